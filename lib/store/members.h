#ifndef NCCLPROF_STORE_MEMBERS_H
#define NCCLPROF_STORE_MEMBERS_H

#include <stddef.h>
#include <stdint.h>

/*
 * The global ranks of a communicator's members, in order of its own ranks, as the store keeps them:
 * "[0,4,8]". *ranks is freed by the caller. Where the text is no such list, or names a rank twice or one
 * beyond a C int, which is what NCCL counts by, *count is 0. -1: out of memory.
 */
int members_read(const char *text, int64_t **ranks, size_t *count);

#endif

#ifndef NCCLPROF_MODEL_COMMUNICATOR_HASH_H
#define NCCLPROF_MODEL_COMMUNICATOR_HASH_H

#include <stddef.h>
#include <stdint.h>

/*
 * A hash for a communicator of which a trace does not tell NCCL's own: of what it is called (NULL as "") and
 * of the global ranks in it, in order of the ranks in the communicator (NULL with count 0: not known). The
 * same for all who know the same of it, in every run and on every machine; never 0.
 */
uint64_t communicator_hash_of(const char *name, const int64_t *members, size_t count);

#endif

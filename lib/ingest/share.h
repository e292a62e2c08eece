#ifndef NCCLPROF_INGEST_SHARE_H
#define NCCLPROF_INGEST_SHARE_H

#include <stdint.h>

struct walk;

/*
 * Of the files of a walk those whose place in it is `number` modulo `count`: tasks that see the same files
 * divide them so without talking. The others go. After what is left out for another's sake
 * (twins.h, copies.h) has gone, or tasks would not agree.
 */
void share_take(struct walk *walk, int64_t number, int64_t count);

#endif

#ifndef NCCLPROF_ANALYSE_SHARD_NOTES_H
#define NCCLPROF_ANALYSE_SHARD_NOTES_H

#include "base/error.h"

struct store;
struct table;

/* That of a store which was merged of shards something is not there: what that would tell was not judged. */
int caution_shards(struct store *store, struct table *table, struct error *error);

/* Whether it is so. */
int shards_are_lacking(struct store *store, int *are_lacking, struct error *error);

#endif

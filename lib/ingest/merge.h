#ifndef NCCLPROF_INGEST_MERGE_H
#define NCCLPROF_INGEST_MERGE_H

#include "ingest/file.h"
#include "ingest/merge_plan.h"

/*
 * Brings the files of other stores into *store, by the rules by which an ingest brings in files: what their
 * tables hold of them is the same as if one ingest had read them all. Each file goes in whole or not at all;
 * what a merge that ended early has brought stays, and the next one brings the rest. The tables are not
 * joined. As long as it has not ended, the store says of each shard that it is not all there.
 */
struct merge {
    struct merge_plan plan;
    int stays_shard;  /* the store is one itself afterwards: it is merged again */
    int64_t expected; /* so many shards there are to be, whatever they say; 0: as many as they say */
    struct ingest_hooks hooks;
};

/*
 * *store is NULL where there is none; it is made at `path` once there is something to write. Paths in what
 * the hooks get are the plan's. -1: the store failed, or the user stopped it.
 */
int merge_run(struct merge *merge, struct store **store, const char *path, struct error *error);

#endif

#ifndef NCCLPROF_BUFFERS_SNAPSHOTS_H
#define NCCLPROF_BUFFERS_SNAPSHOTS_H

#include "buffers/known_memory.h"

/*
 * Allocator snapshots name no process: a rank's is the one whose file is called so, of the run in whose
 * directories it lies. Fills in what is known of ranks, and their clocks.
 */
int snapshots_load(struct known_memory *known, struct store *store, int64_t run_id, struct error *error);

#endif

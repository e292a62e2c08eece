#ifndef NCCLPROF_INGEST_CREW_H
#define NCCLPROF_INGEST_CREW_H

#include "ingest/file.h"

struct store;
struct walk;

/*
 * Reads all files of a walk with `jobs` threads, writes their rows into *store with this one, and hands what
 * became of each to the hook `take`, in the walk's order. A *store that is NULL is made once there is
 * something to write; it is the caller's in any case. Returns -1 when the store failed or the user stopped
 * it: files that were said to be ingested are in the store nevertheless.
 */
int crew_run(const struct ingest *ingest, const struct walk *walk, struct store **store, int jobs,
             struct error *error);

#endif

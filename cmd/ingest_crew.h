#ifndef NCCLPROF_CMD_INGEST_CREW_H
#define NCCLPROF_CMD_INGEST_CREW_H

#include "cmd/ingest_file.h"

struct arguments;
struct context;
struct report;
struct walk;

/*
 * Reads all files of a walk with `jobs` threads, writes their rows into context->store with this one, and
 * adds what became of each to the report, in the walk's order. A store that is NULL is made once there is
 * something to write. Returns -1 (context->error is set) when the store failed or the user stopped it: files
 * that the report calls ingested are in the store nevertheless.
 */
int crew_run(struct context *context, const struct ingest *ingest, const struct walk *walk,
             const struct arguments *arguments, int jobs, struct report *report);

#endif

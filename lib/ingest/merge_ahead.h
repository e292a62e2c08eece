#ifndef NCCLPROF_INGEST_MERGE_AHEAD_H
#define NCCLPROF_INGEST_MERGE_AHEAD_H

#include "ingest/merge_plan.h"

/*
 * Reads the files of a merge in their order, some ahead of who writes them: a thread of its own does. A great
 * file is read on by the writer, some MB at once.
 */
struct merge_ahead;

/* Borrows the plan. NULL with `error` set. */
struct merge_ahead *merge_ahead_new(struct merge_plan *plan, struct error *error);
void merge_ahead_free(struct merge_ahead *ahead);

/*
 * The beginning of the next file, number 0, 1, 2 ..., when it has been read; it stays ahead's, until
 * merge_ahead_done. NULL with `error` set: the store that it is in is at fault, or memory is out.
 */
struct unload *merge_ahead_take(struct merge_ahead *ahead, size_t file, struct error *error);

/* Reads on. -1 likewise. */
int merge_ahead_more(struct merge_ahead *ahead, size_t file, struct unload *load, struct error *error);

/* The file is done with, whatever merge_ahead_take said. */
void merge_ahead_done(struct merge_ahead *ahead, size_t file);

#endif

#ifndef NCCLPROF_JOIN_TOLD_RANKS_H
#define NCCLPROF_JOIN_TOLD_RANKS_H

#include "join/work.h"

/*
 * Global ranks as files tell them, instead of those that a communicator of all gives: where they are told of
 * each rank of a run, and where there is no such communicator. Says so of the run, and notes what
 * contradicts.
 */
int work_take_told_ranks(struct work *work, struct error *error);

/*
 * Processes that are told to be a rank and are in no communicator, as where a file says why there is no dump
 * of one: (run, global rank) -> process. Wants processes grouped, and their runs.
 */
int work_list_unplaced(const struct work *work, struct map *unplaced, struct error *error);

/*
 * Of a run whose ranks are all told: adds those that recorded nothing, as members of its communicators are
 * listed and as its size is told, with their processes where these are listed; and how many are expected.
 * Wants the ranks grouped by run.
 */
int work_fill_told(struct work *work, int32_t run, const struct map *unplaced, struct error *error);

#endif

#ifndef NCCLPROF_JOIN_WINDOWS_H
#define NCCLPROF_JOIN_WINDOWS_H

#include "join/work.h"
#include "join/workers.h"

/*
 * Recorders that are on for a while only, each rank's from another operation on, and that do not number what
 * they record: profilers of frameworks. Operations are counted then, from one that all ranks know to be the
 * same: the first of a training step that the program counts; the first number of a communicator that the
 * program tells; or, on a communicator of all ranks, by what ends together, where the order of functions and
 * sizes fits and the clocks leave no doubt. Where nothing tells, each rank's operations stay its own.
 *
 * Fills in first_numbers of members, and first_step of the run where all ranks' steps are told.
 */
int run_align_windows(struct work *work, int32_t run, struct hands *hands, struct error *error);

#endif

#ifndef NCCLPROF_STEPS_RANK_STEPS_H
#define NCCLPROF_STEPS_RANK_STEPS_H

#include "baseline/baseline.h"

/* What a training step was for one rank, in nanoseconds; TIME_UNKNOWN where the trace does not tell. */
struct rank_step {
    int64_t duration_ns; /* from its first operation to the same one of its next step */
    int64_t waiting_ns;  /* in which it waited for the last to arrive (rank_times.h) */
    int64_t own_ns;      /* how much it was late by itself: own time that stands out (struct excess) */
};

/*
 * [rank * step_count + step], owned by the caller (free); NULL when memory is out. What is the ranks' own is
 * known once they have been suspected (findings_find).
 */
struct rank_step *rank_steps_new(const struct job *job, const struct baseline *baseline);

#endif

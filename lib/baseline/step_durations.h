#ifndef NCCLPROF_BASELINE_STEP_DURATIONS_H
#define NCCLPROF_BASELINE_STEP_DURATIONS_H

#include "baseline/baseline.h"

/* baseline_init's part: fills in step_ns and its median. -1 when memory is out. */
int baseline_measure_steps(struct baseline *baseline, const struct job *job);

/*
 * How long a row of steps lasted together, median over ranks: ranks that enter a step at different times
 * count a delay at its edge to different steps, and where half of them are late a median sees it in neither:
 * it is counted to the step in which others wait. The last step of all, whose end nothing tells, is left out.
 * TIME_UNKNOWN where there is no other. `list` has room for one of each rank.
 */
int64_t baseline_lasted_ns(const struct baseline *baseline, const struct job *job, int32_t first_step,
                           int32_t last_step, int64_t *list);

/* How long a step lasted for one rank. TIME_UNKNOWN where its traces do not tell, and of the last step. */
int64_t baseline_rank_lasted_ns(const struct baseline *baseline, const struct job *job, int32_t rank,
                                int32_t step);
/* The same from when until when, on the rank's own clock. 0 where that is not told. */
int baseline_rank_lasted(const struct baseline *baseline, const struct job *job, int32_t rank, int32_t step,
                         int64_t *begin_ns, int64_t *end_ns);

#endif

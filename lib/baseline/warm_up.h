#ifndef NCCLPROF_BASELINE_WARM_UP_H
#define NCCLPROF_BASELINE_WARM_UP_H

#include "baseline/baseline.h"

/*
 * Steps after the first in which something is used for the first time: a regular stretch begins, or a
 * communicator is made anew, or the program and its profiler still start up. What takes longer there is
 * warm-up, as all of step 0 is, where it hits several ranks, or is over in the next step.
 */

/* One more of them; each comes once, in any order. -1 when memory is out. */
int warm_up_add(struct baseline *baseline, int32_t step);

/* Those in which communicators made anew are first used. -1 when memory is out. */
int warm_up_find(struct baseline *baseline, const struct job *job);

/* The long ones that the job begins with, a few at most. Wants baseline_measure_steps. -1 when memory is out.
 */
int warm_up_find_first(struct baseline *baseline);

/* The values of one place, [row * step_count + step]: those that are warm-up become TIME_UNKNOWN. `list` has
 * room for a row. */
void warm_up_leave_out(const struct baseline *baseline, int64_t *values, size_t rows, int64_t *list);

#endif

#ifndef NCCLPROF_BASELINE_LOADS_H
#define NCCLPROF_BASELINE_LOADS_H

#include "job/job.h"

/*
 * Where a job's work per step changes, on all ranks alike and for good, though its operations stay what they
 * are: longer sequences, more micro-batches between the sums of gradients. By step, the number of its load:
 * 0 from the first step on, then counted up. What was usual before says nothing of what is usual after.
 *
 * A load changes where the own time of a step (job/own_time.h), as ranks have it in the middle one of some
 * steps, is more than a fifth above or below that of as many before, on three ranks in four by the same
 * factor: a rank that is late, and hosts that are late now and then, change no load. Owned by the caller;
 * NULL when memory is out.
 */
int32_t *loads_find(const struct job *job, int32_t first_step);

#endif

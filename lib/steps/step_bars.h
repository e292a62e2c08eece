#ifndef NCCLPROF_STEPS_STEP_BARS_H
#define NCCLPROF_STEPS_STEP_BARS_H

#include "job/job.h"

/* An operation of a rank on the run's common clock, in nanoseconds. */
struct step_bar {
    int32_t operation;
    int64_t begin_ns;
    int64_t end_ns;     /* TIME_UNKNOWN: not recorded, or it never ended */
    int is_open;        /* it was begun and never ended */
    int64_t waiting_ns; /* what it waited for the last to arrive (arrival.h); 0 where that is not known */
};

struct step_bars {
    struct step_bar *items; /* owned; by begin */
    size_t count;
    int is_unclocked; /* its clock is not aligned with the others' */
    int is_untimed;   /* no operation says when it ran */
};

/*
 * Those of a rank in a step that say when they began, and those that wait for good. -1 when memory is out:
 * release it all the same.
 */
int step_bars_init(struct step_bars *bars, const struct job *job, int32_t rank, int32_t step);
void step_bars_release(struct step_bars *bars);

#endif

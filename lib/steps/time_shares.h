#ifndef NCCLPROF_STEPS_TIME_SHARES_H
#define NCCLPROF_STEPS_TIME_SHARES_H

#include "baseline/baseline.h"

/*
 * What the time of a job went into, over the steps whose length is known, without the warm-up. Of a rank on
 * average; TIME_UNKNOWN where the trace does not tell.
 */
struct time_shares {
    int64_t steps_ns;         /* all of it */
    int64_t communication_ns; /* at least one operation ran on its GPU (step_summary.h): no more than all */
    int64_t waiting_ns;       /* of that, it waited for the last to arrive (arrival.h) */
    int64_t usual_step_ns;    /* what steps take that nothing made longer (quiet_of) */
};

/* -1 when memory is out. */
int time_shares_measure(struct time_shares *shares, const struct job *job, const struct baseline *baseline);

#endif

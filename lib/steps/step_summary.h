#ifndef NCCLPROF_STEPS_STEP_SUMMARY_H
#define NCCLPROF_STEPS_STEP_SUMMARY_H

#include "baseline/baseline.h"

/*
 * What a training step was: when, how long, how much of it was communication, who waited for whom, and which
 * phase made it longer. Times are nanoseconds; TIME_UNKNOWN where the trace does not tell.
 */
struct step_summary {
    int64_t begin_ns;    /* its first operation's start, in the run's common time (job_common_time) */
    int64_t duration_ns; /* from a rank's first operation to its next step's, median over ranks */
    int64_t usual_ns;    /* what steps take that nothing made longer (quiet_of) */
    /* Of the duration, the part of all ranks' time in the step (rank_times.h) in which ... */
    int64_t communication_ns; /* at least one operation ran on the rank's GPU */
    int64_t waiting_ns;       /* of that, the rank waited for the last to arrive */
    int32_t last_rank;        /* job rank that the others waited for most; -1 */
    int64_t last_waited_ns;   /* what they all waited for it together */
    int32_t tag;              /* phase that took more than usual, by most; -1 */
    int64_t grew_ns;          /* by so much, mean over ranks */
};

/* What steps take that nothing made longer (quiet_of); TIME_UNKNOWN. -1 when memory is out. */
int step_usual_ns(const struct baseline *baseline, int64_t *usual_ns);

/*
 * One for each step of the job, by number, owned by the caller (free); NULL when memory is out. A phase is a
 * tag; what it took is shared out without a rest: from the end of the operation before, on whatever stream,
 * to the end of each of its own.
 */
struct step_summary *step_summaries_new(const struct job *job, const struct baseline *baseline);

#endif

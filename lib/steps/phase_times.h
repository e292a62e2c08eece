#ifndef NCCLPROF_STEPS_PHASE_TIMES_H
#define NCCLPROF_STEPS_PHASE_TIMES_H

#include "job/job.h"

struct step_summary;

/* What a phase took in a step. */
struct phase_time {
    int32_t step;
    int32_t tag;      /* -1: operations without one */
    int64_t time_ns;  /* mean over the ranks that were in it */
    int64_t usual_ns; /* the same, over steps (quiet_of) */
    int32_t ranks;
};

struct phase_times {
    struct phase_time *items; /* owned; by tag, then by step */
    size_t count;
    size_t capacity;
};

/* -1 when memory is out; to be released whatever it returns. */
int phase_times_init(struct phase_times *times, const struct job *job);
void phase_times_release(struct phase_times *times);

/* Fills in tag and grew_ns of the steps. -1 when memory is out. */
int phase_times_grown(const struct job *job, struct step_summary *summaries);

#endif

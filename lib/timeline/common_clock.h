#ifndef NCCLPROF_TIMELINE_COMMON_CLOCK_H
#define NCCLPROF_TIMELINE_COMMON_CLOCK_H

#include "timeline/calls.h"

/*
 * The one clock of a timeline: nanoseconds since the first of what a job did, whatever of it is drawn. A rank
 * whose clock is not aligned with the others' is where its wall clock has it, or if that or the others' is
 * not told, begins at 0.
 */
struct common_clock {
    const struct job *job; /* borrowed */
    int64_t origin_ns;     /* in the run's common time */
    int64_t wall_ns;       /* what a wall clock said at 0; TIME_UNKNOWN */
    int64_t *own_ns;       /* owned: of each rank, 0 on its host's clock; TIME_UNKNOWN */
    int64_t adrift;        /* so many ranks begin at 0 because nothing tells when that was */
};

/* Reads wall clocks from the job's store. */
int common_clock_init(struct common_clock *clock, const struct job *job, const struct call *calls,
                      struct error *error);
void common_clock_release(struct common_clock *clock);

/* A time on the clock of a rank's host. TIME_UNKNOWN stays; what is before the first is at 0. */
int64_t common_clock_host(const struct common_clock *clock, int32_t rank, int64_t host_ns);

/* A time on an operation's device timeline; likewise. */
int64_t common_clock_device(const struct common_clock *clock, const struct job_operation *operation,
                            int64_t time_ns);

#endif

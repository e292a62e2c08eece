#ifndef NCCLPROF_STEPS_RANK_TIMES_H
#define NCCLPROF_STEPS_RANK_TIMES_H

#include "baseline/baseline.h"

#include <stddef.h>
#include <stdint.h>

/*
 * What the time of a rank's steps went into. A step of a rank is the time from its first operation to that of
 * its next step; operations of one moment, and those that run on into the next step, count once, in the step
 * in which they ran. So communication is never more than the step, nor waiting more than communication.
 */
struct rank_time {
    int64_t lasted_ns;        /* TIME_UNKNOWN of the last step, and where the trace does not tell */
    int64_t communication_ns; /* at least one operation ran on its GPU; TIME_UNKNOWN where none tells when */
    int64_t waiting_ns;       /* of that, in at least one it waited for the last to arrive (arrival.h), which
                                 it does from its start on */
};

/* A part of a rank's time. */
struct rank_span {
    int64_t begin_ns;
    int64_t end_ns;
};

/* What measuring all ranks of a job takes; read by several threads. */
struct rank_times {
    const struct job *job;
    const struct baseline *baseline;
    int64_t *least_stay_ns; /* owned: of each instance, that of the last to arrive; TIME_UNKNOWN */
    size_t most_operations; /* that a rank has */
};

/* -1 when memory is out. Borrows both. */
int rank_times_init(struct rank_times *times, const struct job *job, const struct baseline *baseline);
void rank_times_release(struct rank_times *times);

/* What one thread measures with. */
struct rank_times_bench {
    struct rank_span *ran; /* owned, as is the next: one for each operation of a rank */
    struct rank_span *waited;
};

int rank_times_bench_init(struct rank_times_bench *bench, const struct rank_times *times);
void rank_times_bench_release(struct rank_times_bench *bench);

/*
 * Of one rank; `steps` has room for the steps of the job. A step that lasted nobody knows how long has what
 * its own operations took.
 */
void rank_times_measure(const struct rank_times *times, struct rank_times_bench *bench, int32_t rank,
                        struct rank_time *steps);

#endif

#ifndef NCCLPROF_JOB_SEQUENCES_H
#define NCCLPROF_JOB_SEQUENCES_H

#include "job/job.h"

/*
 * The sequence numbers that a rank showed on a communicator for one collective function, in one excerpt where
 * the run is loaded in such.
 */
struct series {
    int64_t least;
    int64_t greatest;
    int64_t count; /* operations */
    int32_t rank;
    int32_t communicator;
    uint8_t function;
    size_t excerpt;
};

typedef int (*series_taker)(void *context, const struct series *series);

/* Calls `take` for each series of a job, once, those of a rank in order of excerpts. Stops at the first that
 * returns -1, and where memory is out.
 */
int job_each_series(const struct job *job, series_taker take, void *context);

#endif

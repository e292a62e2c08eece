#ifndef NCCLPROF_BASELINE_RECEIVED_H
#define NCCLPROF_BASELINE_RECEIVED_H

#include "job/job.h"

/*
 * Load that is data. How long a rank works after an operation goes with what that brought it: the expert that
 * is sent more tokens has more to do, and no GPU is slow for it. Values of a place are held against the bytes
 * that came in before them, and what those explain is taken away; the rest may be somebody's fault.
 */
struct received {
    int64_t *bytes;       /* owned: [rank * steps + step], of each value; -1 unknown */
    int64_t *list;        /* owned: scratch, as many */
    int64_t *usual_bytes; /* owned: of each rank, median over steps; TIME_UNKNOWN */
    int64_t *usual_value; /* owned: likewise */
    struct received_slope *slopes; /* owned: scratch, one for each value */
};

int received_init(struct received *received, size_t ranks, size_t steps);
void received_release(struct received *received);

/*
 * What the operation before it on its stream brought its rank: of sends and receives that were called as one,
 * what was received; of a collective its size. -1 where there is none, or sizes are not known.
 */
int64_t received_before(const struct job *job, const struct job_operation *operation);

/*
 * Takes from values, [rank * steps + step] from first_step on, what the bytes beyond their median explain, by
 * one line for all: each rank is held against its own median, so that a rank that is slow all the time is not
 * explained by its getting more all the time. The line is the one of least absolute deviations (Boscovich,
 * 1757): the median of the slopes from the middle, weighted by how far their bytes are from there. Time grows
 * as much as bytes do, at most. Nothing changes where bytes are the same in all steps or not known.
 */
void received_explain(struct received *received, int64_t *value, size_t ranks, int32_t first_step,
                      int32_t steps);

#endif

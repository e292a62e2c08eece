#ifndef NCCLPROF_JOB_SCREENING_H
#define NCCLPROF_JOB_SCREENING_H

#include "job/job.h"

/*
 * A run looked at without holding its operations: how many there are in each step, where the record of each
 * rank ends, and which steps stand out. What is measured is, of each communicator in each step, how long its
 * operations were on the device, summed over its members: it grows in all that wait for one that is late, and
 * where a transfer is slow. And of some ranks how long steps lasted, as they could all be late at once.
 */
struct screening {
    int32_t step_count;
    int64_t *operations; /* owned: [step] */
    int64_t in_no_step;
    int64_t total;
    int32_t *last_step; /* owned: [rank], the last of which it has an operation; -1 */
    size_t rank_count;
    double *stands_out; /* owned: [step], by how many times the usual spread it is away from usual; 0 where
                           nothing tells how long operations took */
    int is_told;        /* something does */
};

/* Of a job of which names are loaded. Release it whatever comes back. */
int screening_init(struct screening *screening, const struct job *job, struct error *error);
void screening_release(struct screening *screening);

#endif

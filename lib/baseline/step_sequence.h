#ifndef NCCLPROF_BASELINE_STEP_SEQUENCE_H
#define NCCLPROF_BASELINE_STEP_SEQUENCE_H

#include "job/job.h"

/* The operations of one rank in one step: a run in order of issue. */
struct stretch {
    int32_t first; /* -1: none */
    int32_t count;
    uint64_t signature; /* communicators, functions and sizes in order */
    int has_gap;        /* by sequence numbers, operations are missing in it, or next to it */
};

/*
 * The communicator that an operation has in the sequence of its step: of one made anew the one that it
 * succeeds, but where records are missing between others. There numbers tell which they are, and those begin
 * anew.
 */
int32_t communicator_of_step(const struct job *job, const struct job_operation *operation);

/* Those of a rank, one for each step of the job. -1 when memory is out. */
int stretches_cut(const struct job *job, const struct job_rank *rank, struct stretch *stretches);

/*
 * The canonical one, of the steps from `first_step` on: the one whose signature most share, of those without
 * gaps where there are any; among equals the longest. Empty when there is none. `sorted` is scratch, of as
 * many.
 */
struct stretch stretches_canonical(const struct stretch *stretches, int32_t first_step, int32_t count,
                                   struct stretch *sorted);

#endif

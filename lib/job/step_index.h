#ifndef NCCLPROF_JOB_STEP_INDEX_H
#define NCCLPROF_JOB_STEP_INDEX_H

#include "job/job.h"

/*
 * Steps with next to nothing in them, as tags that never recur make them: tables of ranks by steps
 * would outgrow the trace, so the run then counts as one without steps.
 */
void job_doubt_steps(struct job *job);
/* Whether those of a run with so many operations are. */
int job_steps_are_doubtful(const struct job *job, int64_t operations);
int job_index_steps(struct job *job, struct error *error);

/*
 * A range of indexes that holds all operations of a rank in those steps, and perhaps others; a
 * range of places in by_step that holds the instances of those steps, and no others. Steps are below
 * step_count.
 */
struct job_range job_operations_in(const struct job *job, int32_t rank, int32_t first_step,
                                   int32_t last_step);
struct job_range job_instances_in(const struct job *job, int32_t first_step, int32_t last_step);

#endif

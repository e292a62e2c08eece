#ifndef NCCLPROF_JOB_STEP_ROWS_H
#define NCCLPROF_JOB_STEP_ROWS_H

#include "job/job.h"

/*
 * A run that memory does not hold, to be gone through whole in rows of steps one after the other. Each row is
 * loaded as excerpts (excerpts.h): the steps that the job begins with, which are its warm-up as always, then
 * the row with a step on both sides of it, so that what goes on across its ends is there.
 */
struct step_rows {
    int32_t *ends; /* owned: the step of the run before which each row ends, ascending; the last is all */
    size_t count;
    int32_t first_step; /* of the job: that is recorded */
};

/* In operations. */
struct step_sizes {
    int64_t in_steps;
    int64_t with_each; /* that are loaded with each row */
    int32_t step_count;
};

/*
 * How many rows take about `most_operations` each. Where what is loaded with each leaves too little room,
 * rows take more: a step, and a fourth of `most_operations`, are the least.
 */
int64_t step_rows_needed(const struct step_sizes *sizes, int64_t most_operations);

/*
 * As few rows as take about `most_operations` operations each with what is loaded beside them, and are about
 * as large as each other. `job` has its names, and steps. Release it whatever comes back.
 */
int step_rows_find(struct step_rows *rows, const struct job *job, int64_t most_operations,
                   struct error *error);
void step_rows_release(struct step_rows *rows);

/* What is loaded of a row. Owned by the caller (free); NULL when memory is out. */
struct job_excerpt *step_row_excerpts(const struct step_rows *rows, size_t row, size_t *count);

/*
 * The steps of a row in a job that is loaded so, by its numbers, from *first to before *end. What has no step
 * (-1) is with the first row: it is loaded with each.
 */
void step_row_steps(const struct step_rows *rows, size_t row, const struct job *job, int32_t *first,
                    int32_t *end);

#endif

#ifndef NCCLPROF_JOB_STEP_ROWS_H
#define NCCLPROF_JOB_STEP_ROWS_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct job;
struct job_excerpt;

/* -------------------- screening.c -------------------- */

/*
 * A partition of a run that is too large for memory into rows of consecutive steps, for analyzing all of it.
 * Each row is loaded as excerpts (step_selection.c): the first steps of the run, which are its warm-up, and
 * then the row with one step before and one after it, so that operations across its boundaries are complete.
 */
struct step_rows {
    int32_t *ends; /* owned: [row] the step of the run after its last one, ascending */
    size_t count;
    int32_t first_step; /* of the job: first recorded step */
};

/*
 * Finds the smallest number of rows of similar size that need about `most_operations` operations each,
 * including what is loaded with them. `job` needs its names and steps. Release it even after an error.
 */
int step_rows_find(struct step_rows *rows, const struct job *job, int64_t most_operations,
                   struct error *error);
void step_rows_release(struct step_rows *rows);

/* The excerpts to load for a row. Owned by the caller (free); NULL when out of memory. */
struct job_excerpt *step_row_excerpts(const struct step_rows *rows, size_t row, size_t *count);

/*
 * The steps that belong to a row, in the numbers of a job loaded with its excerpts, from *first up to but not
 * including *end. Operations without a step (-1) are loaded with each row and belong to the first one.
 */
void step_row_steps(const struct step_rows *rows, size_t row, const struct job *job, int32_t *first,
                    int32_t *end);

/*
 * The excerpts to load for an analysis that shows consecutive steps of a run: the first steps, which are its
 * warm-up, and a window that begins with step `first`. It goes up to `last` if that needs at most about
 * `most_operations` operations, and then on both sides as far as they suffice. `job` needs its names and
 * steps. Owned by the caller (free); NULL with an error.
 */
struct job_excerpt *step_window_find(const struct job *job, int32_t first, int32_t last,
                                     int64_t most_operations, size_t *count, struct error *error);

#endif

#ifndef NCCLPROF_JOB_EXCERPTS_H
#define NCCLPROF_JOB_EXCERPTS_H

#include "job/job.h"

#include <stddef.h>
#include <stdint.h>

/*
 * A run that memory does not hold is loaded in excerpts: some of its steps, whole. In the job these have
 * numbers without gaps but for one between two excerpts, the break: a step in which nothing is recorded, as
 * steps on both sides of it do not follow each other. Who counts, compares or goes through steps sees a
 * shorter run with a few empty steps in it; who tells a step's number tells the run's. What has no step is
 * loaded wherever it stands.
 */

/*
 * Steps of the run that are loaded, ascending and without two that touch; the first begins at 0. They are the
 * job's from then on, whatever comes back: -1 when memory is out.
 */
int job_take_excerpts(struct job *job, struct job_excerpt *excerpts, size_t count);

/* The number in the job of a step of the run; -1: it is not loaded. A run that is loaded whole: the same. */
int32_t job_loaded_step(const struct job *job, int64_t run_step);

/* The number in the run of a step of the job; of a break that of the first step that is left out there. */
int32_t job_run_step(const struct job *job, int32_t step);

/* Whether a step of the job is a break, of which nothing is known. */
int job_is_break(const struct job *job, int32_t step);

/* Which excerpt a step of the job is in, a break in the one before it; 0 of a run that is loaded whole. */
size_t job_excerpt_of(const struct job *job, int32_t step);

/* How many breaks are between two steps of the job, both included. */
int32_t job_breaks_in(const struct job *job, int32_t first, int32_t last);

/* How many steps are loaded, and how many the run has. */
int32_t job_loaded_steps(const struct job *job);
int32_t job_run_steps(const struct job *job);

/*
 * Of how many times as many steps those that are loaded stand out: in a later round (load.h) they were sought
 * among all of the run, and what is rare in it is not rare there. 1: they were not sought.
 */
double job_sought_among(const struct job *job);

/* What an operation takes in memory at most, with its instance and what an analysis makes of it. */
enum { JOB_OPERATION_BYTES = 208 };

#endif

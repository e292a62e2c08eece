#ifndef NCCLPROF_JOB_LOAD_H
#define NCCLPROF_JOB_LOAD_H

#include "job/job.h"

/* Loads a run whole, timelines included. On failure nothing is left to release. */
int job_load(struct job *job, struct store *store, int64_t run_id, struct error *error);

/*
 * The same, but a run whose operations would take more than `memory_bytes` is loaded in excerpts
 * (excerpts.h): steps that say most, chosen by a look at all (choose_steps.h). One whose steps are not known
 * is loaded whole. 0: no limit.
 */
int job_load_within(struct job *job, struct store *store, int64_t run_id, int64_t memory_bytes,
                    struct error *error);

/* Whether that loads a run whole of which names are loaded. */
int job_is_loaded_whole(const struct job *job, int64_t memory_bytes, int *is_whole, struct error *error);

/* Loads these excerpts, which are the job's from then on (job_take_excerpts). */
int job_load_steps(struct job *job, struct store *store, int64_t run_id, struct job_excerpt *excerpts,
                   size_t count, struct error *error);

/* The same in two steps: its ranks and communicators, then all that there are millions of. */
int job_load_names(struct job *job, struct store *store, int64_t run_id, struct error *error);
int job_load_rest(struct job *job, struct error *error);

#endif

#ifndef NCCLPROF_JOB_LOAD_H
#define NCCLPROF_JOB_LOAD_H

#include "job/choose_steps.h"
#include "job/job.h"

/* Loads a run whole, timelines included. On failure nothing is left to release. */
int job_load(struct job *job, struct store *store, int64_t run_id, struct error *error);

/*
 * The same, but of a run whose operations would take more than `memory_bytes` one round is loaded: excerpts
 * (excerpts.h) of the steps that say most, chosen by a look at all (choose_steps.h). One whose steps are not
 * known is loaded whole. 0: no limit.
 */
int job_load_within(struct job *job, struct store *store, int64_t run_id, int64_t memory_bytes,
                    struct error *error);

/* Whether that loads a run whole of which names are loaded. */
int job_is_loaded_whole(const struct job *job, int64_t memory_bytes, int *is_whole, struct error *error);

/*
 * How a run is loaded whose operations would take more than `memory_bytes`: in rounds, MOST_ROUNDS at most.
 * No round: it is to be loaded whole. `names` gets its ranks and communicators (job_load_names), and what was
 * seen of its steps. On failure nothing is left to release. 0: no limit.
 */
int job_plan(struct chosen_steps *rounds, struct job *names, struct store *store, int64_t run_id,
             int64_t memory_bytes, struct error *error);

/*
 * Loads a round, by its number, of the run that `names` is of. The first is the one with the end of the run:
 * what is the run's and no step's is to be judged there.
 */
int job_load_round(struct job *job, const struct job *names, const struct chosen_steps *rounds, size_t round,
                   struct error *error);

/* Loads these excerpts, which are the job's from then on (job_take_excerpts). */
int job_load_steps(struct job *job, struct store *store, int64_t run_id, struct job_excerpt *excerpts,
                   size_t count, struct error *error);

/* The same in two steps: its ranks and communicators, then all that there are millions of. */
int job_load_names(struct job *job, struct store *store, int64_t run_id, struct error *error);
int job_load_rest(struct job *job, struct error *error);

#endif

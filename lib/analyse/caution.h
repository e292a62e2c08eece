#ifndef NCCLPROF_ANALYSE_CAUTION_H
#define NCCLPROF_ANALYSE_CAUTION_H

#include "analyse/baseline.h"
#include "analyse/finding.h"
#include "analyse/job.h"
#include "analyse/runs.h"
#include "model/table.h"

/* What a judgement of a run lacks, as warnings in the same words by every analysis. */

/*
 * Ranks of the job that left no trace, and communicators that are incomplete. Says nothing of a trace of one
 * rank: who records only that knows it. Wants what job_load or waits_measure fill in.
 */
int caution_absent_ranks(const struct job *job, struct table *table, struct error *error);

/* That most ranks looked slow at once (crowd.c). */
int caution_crowd(const struct crowd *crowd, const struct job *job, struct table *table, struct error *error);

/* That a process has ranks which are not told apart. Wants what job_load_operations fills in. */
int caution_parts(const struct job *job, struct table *table, struct error *error);

/* That `count` communicators have no hash, if they do. `run_id` 0: of the whole store. */
int caution_unhashed(int64_t run_id, int64_t count, struct table *table, struct error *error);

/*
 * What records themselves show (records.c), of all runs that are asked about: that logs of a process number
 * different operations alike, that clocks stepped, that sends and their receives differ in size. And the
 * clocks alone.
 */
int caution_records(struct store *store, const struct runs *runs, struct table *table, struct error *error);
int caution_clock_steps(struct store *store, const struct runs *runs, struct table *table,
                        struct error *error);

/*
 * Calls below which the trace has no operation, though they moved data: what they did cannot be judged. Of a
 * run, or of the whole store (0).
 */
struct bare_calls {
    int64_t captured; /* in a graph */
    int64_t others;
};
int bare_calls_count(struct bare_calls *calls, struct store *store, int64_t run_id, struct error *error);
int caution_bare_calls(struct store *store, int64_t run_id, struct table *table, struct error *error);

/*
 * Steps that lasted longer than usual, where the findings do not explain half of that: the row of them, or
 * the single one, that lost most. Several in a row count from a tenth of the median step, and from `sigmas`
 * times its noise; one alone where it lasted twice as long. Wants what findings_find fills in.
 */
int caution_unexplained(const struct job *job, const struct baseline *baseline,
                        const struct findings *findings, double sigmas, struct table *table,
                        struct error *error);

/*
 * That most traces stop without their end, where no finding says who did not get on. Wants what findings_find
 * fills in.
 */
int caution_cut(const struct job *job, const struct findings *findings, struct table *table,
                struct error *error);

/* That the store holds no runs, hence no operations; and what calls without one it knows of. */
int caution_no_operations(struct store *store, const struct runs *runs, struct table *table,
                          struct error *error);

#endif

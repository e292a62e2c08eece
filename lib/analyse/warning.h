#ifndef NCCLPROF_ANALYSE_WARNING_H
#define NCCLPROF_ANALYSE_WARNING_H

#include "analyse/run_choice.h"
#include "base/buffer.h"
#include "baseline/baseline.h"
#include "job/job.h"
#include "model/table.h"
#include "verdict/finding.h"

/* What a judgement of a run lacks, as warnings in the same words by every analysis. */

/* A line for each warning of a table, for an analysis that brings its own text. -1 when memory is out. */
int warnings_say(const struct table *table, struct buffer *text);

/*
 * Ranks of the job that left no trace, or whose recorder stopped before them, and communicators that are
 * incomplete. Says nothing of a trace of one rank: who records only that knows it. Wants what job_load or
 * waits_measure fill in.
 */
int caution_absent_ranks(const struct job *job, struct table *table, struct error *error);

/* That most ranks looked slow at once (rules_common_cause.c). */
int caution_crowd(const struct crowd *crowd, const struct job *job, struct table *table, struct error *error);

/*
 * That a bound was reached beyond which an answer may be another: of suspicions that are weighed, of
 * operations that are looked at before or after another.
 */
int caution_bounds(const struct job *job, const struct findings *findings, struct table *table,
                   struct error *error);

/* That a process has ranks which are not told apart. Wants what job_load_operations fills in. */
int caution_parts(const struct job *job, struct table *table, struct error *error);

/* That `count` communicators have no hash, if they do. `run_id` 0: of the whole store. */
int caution_unhashed(int64_t run_id, int64_t count, struct table *table, struct error *error);

/* That calls moved data and have no operation (bare_calls.h). */
int caution_bare_calls(struct store *store, int64_t run_id, struct table *table, struct error *error);

/*
 * That most traces stop without their end, where no finding says who did not get on. Wants what findings_find
 * fills in.
 */
int caution_cut(const struct job *job, const struct findings *findings, struct table *table,
                struct error *error);

/* Where dumps were written while the job ran, so that who waits for whom is not asked. */
int caution_snapshot(const struct job *job, const struct findings *findings, struct table *table,
                     struct error *error);

/* Of the store as a whole: that shards are not there (shard_notes.h); that it holds no runs, hence no
 * operations, and what calls without one it knows of. */
int caution_no_operations(struct store *store, const struct runs *runs, struct table *table,
                          struct error *error);

#endif

#ifndef NCCLPROF_REPORT_VERDICTS_H
#define NCCLPROF_REPORT_VERDICTS_H

#include "diagnose/diagnose.h"
#include "job/job.h"

#include <stddef.h>
#include <stdint.h>

struct metrics;
struct runs;
struct store;
struct transfer_excess;

/* -------------------- summary.c -------------------- */

/*
 * What the time of a job went into, over the steps whose length is known, without the warm-up. Of a rank on
 * average; TIME_UNKNOWN where the trace does not tell.
 */
struct time_shares {
    int64_t steps_ns;         /* all of it */
    int64_t communication_ns; /* at least one operation ran on its GPU (step_summary.c): no more than all */
    int64_t waiting_ns;       /* of that, it waited for the last to arrive (arrival.h) */
    int64_t usual_step_ns;    /* what steps take that nothing made longer (baseline_quantile) */
};

/* -1 when memory is out. */
int time_shares_measure(struct time_shares *shares, const struct job *job, const struct baseline *baseline);

/* What diagnose judged of the runs of a store, and what its silence is worth. Release it. */
struct summary {
    int64_t runs;
    int64_t ranks;
    int64_t hosts; /* of each run, summed; COUNT_UNKNOWN */
    int64_t steps;
    int64_t median_step_ns; /* of the last run */
    int64_t operations;     /* as in struct scope */
    int64_t judged;
    int64_t doubtful; /* of them, those of runs of which more than a tenth was not judged */
    int64_t whole_ns; /* of all steps, as in struct longer_steps */
    int64_t lost_ns;
    int64_t explained_ns;
    struct time_shares shares; /* summed */
    int64_t waiting_gpu_ns;    /* of all ranks together */
    int64_t gaps[GAP_COUNT];
    struct smallest_fault smallest; /* of the last run */
    int longer_steps;               /* some became longer without anybody to blame */
    struct buffer longer;           /* JSON objects, as below */
    struct buffer undetermined;     /* runs that stand still, and the record cannot say for whom */
};

/* What is known of a run once it is diagnosed. */
struct judgement {
    const struct job *job;
    const struct job *told; /* its ranks, and all steps that were loaded, in whatever round: `job` where one
                               round was all */
    const struct baseline *baseline;
    struct scope scope;
    struct longer_steps longer;
    struct smallest_fault smallest;
    struct time_shares shares;
    size_t hosts;                             /* 0: not known */
    int32_t stopped_step;                     /* the job stands still in it; -1 */
    struct unexplained_hang unexplained_hang; /* not known where a finding says for whom */
};

/* What all ranks that recorded something waited together; TIME_UNKNOWN. */
int64_t judgement_waiting_ns(const struct judgement *judgement);

/* -1 when memory is out: release it all the same. */
int judgement_init(struct judgement *judgement, const struct job *job, const struct baseline *baseline,
                   const struct findings *findings, const struct diagnose_options *options);
void judgement_release(struct judgement *judgement);

/*
 * Adds what was judged in a later round (job/load.h) of the same run. What a healthy step is, and how small a
 * fault would have been seen, is told by the first. -1 when memory is out.
 */
int judgement_add_round(struct judgement *judgement, const struct judgement *round);

int summary_add_run(struct summary *summary, const struct judgement *judgement);
void summary_release(struct summary *summary);

/* Whether a tenth of all or more is in runs that could not be judged, or not wholly. */
int summary_is_doubtful(const struct summary *summary);

/* "summary": {...}. -1 when memory is out. */
int summary_add_json(const struct summary *summary, struct buffer *json);

/* Where findings are shown and less than half of the job was judged, that is a warning. */
int caution_scope(const struct judgement *judgement, struct table *table, struct error *error);

/* -------------------- diagnose_notes.c -------------------- */

/*
 * What is worth a word beside the findings of a run, as warnings: what diagnose could not tell, or not
 * surely, for what the trace lacks. `is_told`: there are findings that are shown.
 */
int caution_run(const struct judgement *judgement, const struct findings *findings,
                const struct transfer_excess *transfers, int is_told, struct table *table,
                struct error *error);

/* Which runs several recorders tell of, and which may be one job and were kept apart, with why. */
int caution_recorders(struct store *store, const struct runs *runs, struct table *table, struct error *error);

/* -------------------- diagnosis.c -------------------- */

/*
 * What suspicions (suspect.h) amount to, and what postmortem finds, in their order. `baseline` and
 * `*transfers`, one for each instance, are made here and released (freed) by the caller, also on failure;
 * they start out zeroed.
 */
int findings_find(struct findings *findings, const struct job *job, struct baseline *baseline,
                  struct transfer_excess **transfers, const struct diagnose_options *options,
                  struct error *error);

/* Of that only what is beyond the usual: baseline->excess and `*transfers`, likewise. */
int excess_find(const struct job *job, struct baseline *baseline, struct transfer_excess **transfers,
                const struct diagnose_options *options, struct error *error);

/*
 * What diagnose is asked without options, for analyses that give its verdicts: rules that the environment
 * turns off included. -1 where that, or the store, cannot be read.
 */
int diagnose_options_usual(struct diagnose_options *options, struct store *store, struct error *error);

/* What diagnose says first of a run, for people. `names_run`: there are several. -1 when memory is out. */

/*
 * What the job was and what it lost, a line each: ranks, steps, how long they usually are; those that were
 * longer; shares of communication and of waiting; what was lost, of how much, and what explains it. Says
 * nothing of a run without operations.
 */
int headline_append_job(const struct judgement *judgement, int names_run, struct buffer *text);

/* The verdict where no finding is shown, and what it is worth. */
int headline_append_verdict(const struct judgement *judgement, int names_run, struct buffer *text);

/* -------------------- judged_run.c -------------------- */

/* A run with all that diagnose finds in it, for whoever tells of it. */
struct judged_run {
    struct job job; /* its only round (job/load.h), or the first */
    struct job all; /* where there are several: what tells of them (judged_run.c) */
    struct baseline baseline;
    struct findings
        findings; /* with their details (diagnose/findings_detail.h), in steps of judgement.told */
    struct transfer_excess *transfers;
    struct judgement judgement;
    size_t operations; /* that were loaded, in whatever round */
    int64_t timed_operations;
};

/* On failure nothing is left to release. It stays where it is: parts of it point to others. */
int judged_run_init(struct judged_run *run, struct store *store, int64_t run_id,
                    const struct diagnose_options *options, struct error *error);
void judged_run_release(struct judged_run *run);

/* -------------------- log_notes.c -------------------- */

/*
 * What NCCL's log says of processes whose ranks it does not tell, as its lines about the making of
 * communicators are not there: errors that they report, and how many calls each made where one made fewer
 * than the others. And that lines of PyTorch's watchdog stand in such a log, where they are not read.
 */
int caution_rankless(struct store *store, struct table *table, struct error *error);

/*
 * That ranks of a run report failures (a peer that closed its connection, transfers that were given up, a
 * port that went) of which no finding speaks. Wants what findings_find fills in.
 */
int caution_effects(const struct job *job, const struct findings *findings, struct table *table,
                    struct error *error);

/* -------------------- warnings.c -------------------- */

/* What a judgement of a run lacks, as warnings in the same words by every analysis. */

/* A line for each warning of a table, for an analysis that brings its own text. -1 when memory is out. */
int warnings_append(const struct table *table, struct buffer *text);

/*
 * Ranks of the job that left no trace, or whose recorder stopped before them, and communicators that are
 * incomplete. Says nothing of a trace of one rank: who records only that knows it. Wants what job_load or
 * waits_measure fill in.
 */
int caution_absent_ranks(const struct job *job, struct table *table, struct error *error);

/* That most ranks looked slow at once (rules_lateness.c). */
int caution_crowd(const struct common_slowdown *common_slowdown, const struct job *job, struct table *table,
                  struct error *error);

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

/* Of the store as a whole: that shards are not there (warnings.c); that it holds no runs, hence no
 * operations, and what calls without one it knows of. */
int caution_no_operations(struct store *store, const struct runs *runs, struct table *table,
                          struct error *error);

/*
 * What records themselves show, of all runs that are asked about: that logs of a process number
 * different operations alike, that clocks stepped, that sends and their receives differ in size. And the
 * clocks alone.
 */
int caution_records(struct store *store, const struct runs *runs, struct table *table, struct error *error);
int caution_clock_steps(struct store *store, const struct runs *runs, struct table *table,
                        struct error *error);

/* That files lay beside the traces which repeat others of them, in whole or in part. */
int caution_copies(struct store *store, const struct runs *runs, struct table *table, struct error *error);

/* Whether it is so. */
int shards_are_lacking(struct store *store, int *are_lacking, struct error *error);

/* -------------------- summary.c -------------------- */

/* What Prometheus is told of a run: its steps, shares, losses, findings, bandwidths and coverage. */
int run_metrics_add(struct metrics *metrics, const struct judged_run *run, struct error *error);

#endif

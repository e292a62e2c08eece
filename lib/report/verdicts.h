#ifndef NCCLPROF_REPORT_VERDICTS_H
#define NCCLPROF_REPORT_VERDICTS_H

#include "diagnose/diagnose.h"
#include "job/job.h"

#include <stddef.h>
#include <stdint.h>

struct filter;
struct metrics;
struct runs;
struct store;
struct transfer_excess;

/* -------------------- summary.c -------------------- */

/*
 * Where the time of a job went, summed over the steps of known duration, without warm-up. Each value is the
 * mean over ranks, in nanoseconds; TIME_UNKNOWN if the trace does not have it.
 */
struct time_shares {
    int64_t steps_ns;         /* total step time */
    int64_t communication_ns; /* time with at least one operation on the rank's GPU (step_summary.c); at most
                                 steps_ns */
    int64_t waiting_ns;       /* part of communication_ns that the rank waited for the last rank to arrive
                                 (job/arrival.c) */
    int64_t usual_step_ns;    /* baseline step time (baseline_quantile) */
};

/* Returns -1 when memory is out. */
int time_shares_measure(struct time_shares *shares, const struct job *job, const struct baseline *baseline);

/*
 * What diagnose analyzed in the runs of a store, and the smallest fault that it would have detected. Release
 * it with summary_release.
 */
struct summary {
    int64_t runs;
    int64_t ranks;
    int64_t hosts; /* sum over runs; COUNT_UNKNOWN */
    int64_t steps;
    int64_t median_step_ns; /* of the last run */
    int64_t operations;     /* as in struct scope, like `judged` */
    int64_t judged;
    int64_t doubtful; /* operations in runs of which more than a tenth could not be analyzed */
    int64_t whole_ns; /* total step time, as in struct longer_steps */
    int64_t lost_ns;
    int64_t explained_ns;
    int64_t hidden_ns;
    struct time_shares shares; /* sum over runs */
    int64_t waiting_gpu_ns;    /* sum over all ranks */
    int64_t gaps[GAP_COUNT];
    struct smallest_fault smallest; /* of the last run */
    int longer_steps;               /* in some run, steps became longer and no finding explains it */
    struct buffer longer;           /* JSON objects, for struct longer_steps */
    int is_open; /* a run hangs, or waits for ranks without a trace, and the cause is unknown */
    struct buffer undetermined; /* JSON objects: such hangs, and time lost without a finding, by reason */
};

/* What is known about a run after its diagnosis. */
struct judgement {
    const struct job *job;
    const struct job *told; /* has the ranks, and the loaded steps of all rounds; same as `job` if one round
                               covered the run */
    const struct baseline *baseline;
    struct scope scope;
    struct longer_steps longer;
    struct smallest_fault smallest;
    struct time_shares shares;
    int covers_little;                        /* less than half of the time is in steps of known duration */
    size_t hosts;                             /* 0: not known */
    int32_t stopped_step;                     /* step in which the job hangs; -1: none */
    struct unexplained_hang unexplained_hang; /* not known if a finding names the culprit */
    struct hidden_wait hidden_wait;           /* none if a finding names a rank without a trace */
    struct uncompared uncompared;             /* none if there are findings */
};

/* Wait time summed over all ranks that recorded something; TIME_UNKNOWN. */
int64_t judgement_waiting_ns(const struct judgement *judgement);

/*
 * Needs findings_find; fills in the account_ns of the findings. Returns -1 when memory is
 * out. Release the judgement in any case.
 */
int judgement_init(struct judgement *judgement, const struct job *job, const struct baseline *baseline,
                   struct findings *findings, const struct diagnose_options *options);
void judgement_release(struct judgement *judgement);

/*
 * Adds to the cost of each finding what steps after its own were longer because of it, as judgement_init
 * does, for commands that need no more. Returns -1 with an error.
 */
int findings_add_later_costs(struct findings *findings, const struct job *job,
                             const struct baseline *baseline, const struct diagnose_options *options,
                             struct error *error);

/*
 * Adds what was analyzed in a later round (job/load.h) of the same run. The baseline step and the smallest
 * detectable fault are those of the first round. Returns -1 when memory is out.
 */
int judgement_add_round(struct judgement *judgement, const struct judgement *round);

int summary_add_run(struct summary *summary, const struct judgement *judgement);
void summary_release(struct summary *summary);

/* Whether at least a tenth of all operations belong to runs that could not be analyzed completely. */
int summary_is_doubtful(const struct summary *summary);

/* Appends "summary": {...}. Returns -1 when memory is out. */
int summary_add_json(const struct summary *summary, struct buffer *json);

/* -------------------- rank_progress.c -------------------- */

/* The operations of a rank in some steps. */
struct rank_progress {
    int64_t called;
    int64_t started; /* without those that the GPU never started, where starts are recorded */
    int64_t finished;
    int32_t waits_in;     /* the first operation that never finished; -1: none */
    int32_t last;         /* the last operation that it called, in these steps or before; -1: none */
    int32_t last_started; /* the same of those that it started */
};

/* Counts the operations of a rank in steps `first` to `last` of the job; from -1 on, also those without step.
 */
void rank_progress_count(struct rank_progress *progress, const struct job *job, int32_t rank, int32_t first,
                         int32_t last);

/* Appends "AllReduce #6 on communicator {0-7}, never finished"; nothing for -1. Returns -1 when memory is
 * out. */
int rank_progress_append(const struct job *job, int32_t operation, struct buffer *text);

/*
 * If a job stopped, appends the operations that never finished, with the ranks that wait in them, and how far
 * each rank came. Ranks that are alike share a line, so that the text is short for any number of ranks.
 * Nothing where the run was loaded in several rounds.
 */
int progress_append_text(const struct judgement *judgement, const struct findings *findings, int names_run,
                         struct buffer *text);

/* Appends the same as JSON objects, one for ranks that are alike, separated by commas. */
int progress_append_json(const struct judgement *judgement, const struct findings *findings,
                         struct buffer *json);

/* -------------------- diagnose_notes.c -------------------- */

/*
 * Adds warnings about a run beside its findings: what diagnose could not determine, or not reliably, because
 * the trace lacks data. `is_told`: the run has findings that are shown.
 */
int caution_run(const struct judgement *judgement, const struct findings *findings,
                const struct transfer_excess *transfers, int is_told, struct table *table,
                struct error *error);

/*
 * Warns about runs that several recorders recorded, and about runs that may be one job and were kept
 * separate, with the reason.
 */
int caution_recorders(struct store *store, const struct runs *runs, struct table *table, struct error *error);

/* -------------------- diagnosis.c -------------------- */

/*
 * Finds what made steps longer (lib/diagnose) and what stopped the job (lib/hang), in the order of
 * output. `baseline` and `*transfers` (one per instance) start zeroed and are filled in here. The caller
 * releases (frees) them, also after an error.
 */
int findings_find(struct findings *findings, const struct job *job, struct baseline *baseline,
                  struct transfer_excess **transfers, const struct diagnose_options *options,
                  struct error *error);

/*
 * Finds only what exceeds the baseline: baseline->excess and `*transfers`. With only_own, of the former only
 * beyond_ns of own times, which takes less. The caller releases both, as for findings_find.
 */
int excess_find(const struct job *job, struct baseline *baseline, struct transfer_excess **transfers,
                const struct diagnose_options *options, int only_own, struct error *error);

/*
 * The options that diagnose uses by default, for other analyses that show its verdicts. They include the
 * rules that the environment turns off. `memory_mib` is the value of --memory. Returns -1 if it is wrong, or
 * if the environment or the store cannot be read.
 */
int diagnose_options_usual(struct diagnose_options *options, struct store *store, const char *memory_mib,
                           struct error *error);

/*
 * The lines that diagnose prints first for a run. `names_run`: the store has several runs. Both functions
 * return -1 when memory is out.
 */

/*
 * What the job was and what it lost, one fact per line: ranks, steps, baseline step; longer steps; shares of
 * communication and wait time; time lost, of how much, and what explains it. Appends nothing for a run
 * without operations.
 */
int headline_append_job(const struct judgement *judgement, int names_run, struct buffer *text);

/* The verdict when no finding is shown, and the smallest fault that would have been detected. */
int headline_append_verdict(const struct judgement *judgement, int names_run, struct buffer *text);

/* -------------------- judged_run.c -------------------- */

/* A run with everything that diagnose finds in it. */
struct judged_run {
    struct job job; /* the only round (job/load.h), or the first of several */
    struct job all; /* if there are several rounds: the job that all findings refer to (judged_run.c) */
    struct baseline baseline;
    struct findings findings; /* with details; steps of judgement.told */
    struct transfer_excess *transfers;
    struct judgement judgement;
    size_t operations; /* operations loaded, in all rounds */
    int64_t timed_operations;
    struct findings shown; /* judged_run_shown; details are borrowed from `findings` */
};

/* On failure there is nothing to release. Do not move the struct: its members point to each other. */
int judged_run_init(struct judged_run *run, struct store *store, int64_t run_id,
                    const struct diagnose_options *options, struct error *error);
void judged_run_release(struct judged_run *run);

/*
 * The findings in steps, operations and tags of run->job, of which pictures and rows of single steps are
 * made; their texts need judgement.told. A finding of which no step is loaded begins after the last step. The
 * order is that of run->findings: sort these first. Valid until the next call and judged_run_show; NULL with
 * an error.
 */
const struct findings *judged_run_shown(struct judged_run *run, struct error *error);

/*
 * Loads other steps of a run that does not fit in memory into run->job, for an analysis that shows single
 * steps, and finds their excess (baseline, transfers). Takes ownership of `excerpts`; NULL: out of memory.
 * The judgement remains, but what it says of operations of run->job can no longer be looked up.
 */
int judged_run_show(struct judged_run *run, struct job_excerpt *excerpts, size_t count,
                    const struct diagnose_options *options, struct error *error);

/*
 * The same with consecutive steps: those of the filter, else those of the first finding that is reported, as
 * far as they fit, and those around them. Does nothing if the whole run is loaded. Sort the findings first.
 */
int judged_run_show_window(struct judged_run *run, const struct filter *filter,
                           const struct diagnose_options *options, struct error *error);

/*
 * The first step of run->job in a row of consecutive ones up to its last; `job_run_step` of these is the step
 * of the run. After judged_run_show_window, earlier steps are warm-up.
 */
int32_t job_first_shown(const struct job *job);

/* A diagnosed run for several analyses, one after the other, which then load and diagnose it once. */
struct shared_run {
    struct judged_run run;
    struct diagnose_options options;
    int64_t run_id;
    int is_loaded;
    int64_t state; /* of the store that the run was loaded from (store.h); set by kept_result_take */
};

/*
 * Loads the run, unless it is already loaded with these options, and points *run to it. Without `shared`
 * there is nothing to share: *run is NULL. Returns -1 on error.
 */
int shared_run_load(struct shared_run *shared, struct store *store, int64_t run_id,
                    const struct diagnose_options *options, struct judged_run **run, struct error *error);

/*
 * The same for analyses that need all steps of the run in memory: *run is NULL if they do not fit into
 * options->memory_bytes.
 */
int shared_run_load_whole(struct shared_run *shared, struct store *store, int64_t run_id,
                          const struct diagnose_options *options, struct judged_run **run,
                          struct error *error);

/* Whether the run is loaded with these options, as a whole. */
int shared_run_has(const struct shared_run *shared, const struct diagnose_options *options);

/* -------------------- log_notes.c -------------------- */

/*
 * What NCCL's log contains about processes whose ranks are not known because the lines about the creation of
 * their communicators are missing: errors that they report, and the number of calls of each process if one
 * made fewer calls than the others; *named is increased for each such warning. Also warns if such a log has
 * lines of PyTorch's watchdog, which are not read there.
 */
int caution_unidentified_processes(struct store *store, int *named, struct table *table, struct error *error);

/* -------------------- described_calls.c -------------------- */

/*
 * For a store without operations: warns about ranks that described fewer calls than most ranks of a group,
 * and wait in no other call; *told is increased for each warning of this kind. A rank describes a call before
 * it makes it.
 */
int caution_described_calls(struct store *store, int *told, struct table *table, struct error *error);

/* -------------------- settings.c -------------------- */

/*
 * Warns about settings and versions in NCCL's log that differ between the ranks of a run, with the odd ranks.
 * Values that are different on each rank are meant to differ.
 */
int caution_settings(struct store *store, int64_t run_id, struct table *table, struct error *error);

/* -------------------- warnings.c -------------------- */

/* Warnings about what is missing from a run. Every analysis uses the same words. */

/*
 * Appends a line for each warning of a table, for an analysis that writes its own text. Returns -1 when
 * memory is out.
 */
int warnings_append(const struct table *table, struct buffer *text);

/*
 * Ends the latest warning with a command line, "ncclprof WORDS --store FILE" (store_append_command). Returns
 * -1 on error.
 */
int warning_add_command(struct table *table, const struct store *store, int64_t run_id, const char *words,
                        struct error *error);

/*
 * Warns about ranks of the job that left no trace or whose recorder stopped before they did, and about
 * incomplete communicators. Adds nothing for a trace of a single rank: a user who records one rank knows
 * that the others are missing. Needs what job_load or waits_measure fill in.
 */
int caution_absent_ranks(const struct job *job, struct table *table, struct error *error);

/*
 * Warns that `what` ("the picture shows") is of some steps of a run that does not fit in memory. Adds nothing
 * if all its steps are loaded.
 */
int caution_loaded_steps(const struct job *job, const char *what, struct table *table, struct error *error);

/*
 * Warns if a limit was reached beyond which the result may change: of
 * operations that are compared before or after another operation.
 */
int caution_bounds(const struct job *job, struct table *table, struct error *error);

/* Warns if a process has several ranks that cannot be separated. Needs what job_load_operations fills in. */
int caution_inseparable_ranks(const struct job *job, struct table *table, struct error *error);

/* Warns if `count`, the number of communicators without a hash, is not 0. `run_id` 0: of the whole store. */
int caution_unhashed(int64_t run_id, int64_t count, struct table *table, struct error *error);

/* Warns about calls that moved data and have no operation. */
int caution_bare_calls(struct store *store, int64_t run_id, struct table *table, struct error *error);

/*
 * Warnings about the store as a whole: shards are missing; it has no runs, so no operations, and which
 * calls without an operation it has.
 */
int caution_no_operations(struct store *store, const struct runs *runs, struct table *table,
                          struct error *error);

/*
 * Warnings about the records themselves, for all selected runs: logs of one process number different
 * operations alike, clocks stepped, sends and their receives differ in size. caution_clock_steps has the
 * clocks alone.
 */
int caution_records(struct store *store, const struct runs *runs, struct table *table, struct error *error);
int caution_clock_steps(struct store *store, const struct runs *runs, struct table *table,
                        struct error *error);

/* Warns about input files that repeat other input files, in whole or in part. */
int caution_copies(struct store *store, const struct runs *runs, struct table *table, struct error *error);

/* Sets *are_lacking if a shard of the store is missing or incomplete. */
int shards_are_lacking(struct store *store, int *are_lacking, struct error *error);

/* -------------------- summary.c -------------------- */

/* Adds the Prometheus metrics of a run: steps, shares, losses, findings, bandwidths and coverage. */
int run_metrics_add(struct metrics *metrics, const struct judged_run *run, struct error *error);

#endif

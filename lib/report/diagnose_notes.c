/*
 * Warnings that diagnose adds to the findings of a run: what it could not determine, and which data would
 * change that.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "hang/hang.h"
#include "job/job.h"
#include "model/model.h"
#include "report/internal.h"
#include "report/stalls.h"
#include "report/verdicts.h"
#include "store/store.h"

#include "schemas.h"

#include <stdio.h>
#include <stdlib.h>

/* "2 'sent, not delivered' (rank 1 to rank 2, and others)". */
static int append_reading(const struct stalls *stalls, const struct pending_state_count *count,
                          struct buffer *text)
{
    return buffer_printf(text, "%s%lld '%s' (rank %s to rank %s%s)", text->length ? ", " : "",
                         (long long)count->count, count->reading, stalls->member_list[count->sender].name,
                         stalls->member_list[count->receiver].name, count->has_others ? ", and others" : "");
}

static int warn(const struct stalls *stalls, const struct pending_state_counts *counted,
                const struct job *job, struct table *table, struct error *error)
{
    struct buffer text = BUFFER_INIT;
    int64_t all = 0;
    int failed = 0;
    for (size_t i = 0; !failed && i < counted->count; i++) {
        all += counted->items[i].count;
        failed = append_reading(stalls, &counted->items[i], &text);
    }
    if (failed)
        error_no_memory(error);
    else if (counted->count)
        failed = table_add_warning(table, error,
                                   "run %lld: %lld proxy operation%s never finished: %s. List them with",
                                   (long long)job->run_id, (long long)all, all == 1 ? "" : "s", text.data) ||
                 warning_add_command(table, job->store, job->run_id, "stalls --states", error);
    buffer_release(&text);
    return failed ? -1 : 0;
}

/* Warns about proxy operations of a run that never ended, with what they were waiting for. */
static int caution_unfinished(const struct job *job, struct table *table, struct error *error)
{
    struct stalls stalls;
    struct pending_state_counts counted;
    stalls_init(&stalls);
    int failed = stalls_load_names(&stalls, job->store, job->run_id, error) ||
                 stalls_count_states(&stalls, job->store, &counted, error) ||
                 warn(&stalls, &counted, job, table, error);
    stalls_release(&stalls);
    return failed ? -1 : 0;
}

/* The first step is warm-up, and with only two others it is not known which one is normal. */
enum { STEPS_TO_COMPARE = 3 };

/* Network steps have timestamps even if operations have none. */
static const char *what_untimed_lack(const struct job *job)
{
    if (job->traffic_count)
        return "the trace has no timestamps: late ranks cannot be detected";
    return job->has_durations ? "the trace has no timestamps: only durations can be compared, and late ranks "
                                "cannot be distinguished from slow links"
                              : "the trace has no timestamps and no durations: late ranks and slow links "
                                "cannot be detected";
}

static int warn_of_times(const struct job *job, const struct baseline *baseline, struct table *table,
                         struct error *error)
{
    long long run = (long long)job->run_id;
    if (!job->timed_operations &&
        table_add_warning(table, error, "run %lld: %s", run, what_untimed_lack(job)))
        return -1;
    if (job_loaded_steps(job) < STEPS_TO_COMPARE)
        return table_add_warning(
            table, error, "run %lld: fewer than 3 steps detected: there is nothing to compare with", run);
    return !job->timed_operations || baseline_is_regular(baseline)
               ? 0
               : table_add_warning(table, error,
                                   "run %lld: fewer than half of the operations belong to a repeating step: "
                                   "they have no baseline to compare with",
                                   run);
}

static int warn_of_ranks(const struct job *job, struct table *table, struct error *error)
{
    int64_t unhashed = 0;
    for (size_t i = 0; i < job->communicator_count; i++)
        unhashed += !job->communicators[i].hash;
    if (!job->has_global_ranks &&
        table_add_warning(
            table, error,
            "run %lld: no communicator contains all processes, so global ranks are unknown; processes are "
            "named HOST:PID",
            (long long)job->run_id))
        return -1;
    return caution_unhashed(job->run_id, unhashed, table, error) || caution_absent_ranks(job, table, error) ||
           caution_inseparable_ranks(job, table, error);
}

static int warn_of_gaps(const struct job *job, struct table *table, struct error *error)
{
    long long run = (long long)job->run_id;
    if (job->late_sequences &&
        table_add_warning(table, error,
                          "run %lld: %lld of %lld operation sequences start late: their first operations are "
                          "not in the trace",
                          run, (long long)job->late_sequences, (long long)job->sequences))
        return -1;
    int64_t lost = job->missing_sequence - job->left_out;
    if (lost > job->overwritten &&
        table_add_warning(table, error, "run %lld: %lld operation%s missing from the trace", run,
                          (long long)lost, lost == 1 ? " is" : "s are"))
        return -1;
    if (job->left_out &&
        table_add_warning(table, error,
                          "run %lld: %lld operation%s missing on every rank: filtered out "
                          "(NCCL_INSPECTOR_DUMP_MIN_SIZE_BYTES) or lost",
                          run, (long long)job->left_out, job->left_out == 1 ? " is" : "s are"))
        return -1;
    if (job->damaged_lines || job->lost_events)
        return table_add_warning(table, error,
                                 "run %lld: %lld damaged line%s, %lld event%s lost by the recorder", run,
                                 (long long)job->damaged_lines, job->damaged_lines == 1 ? "" : "s",
                                 (long long)job->lost_events, job->lost_events == 1 ? "" : "s");
    return 0;
}

/* Warns that only a part of the run was loaded, with the loaded steps and what is known about the others. */
static int caution_excerpts(const struct judgement *judgement, struct table *table, struct error *error)
{
    const struct job *job = judgement->told;
    const struct job_screened *screened = &job->screened;
    long long run = (long long)job->run_id,
              mib = (long long)(screened->operations * JOB_OPERATION_BYTES >> 20) + 1;
    char rounds[32] = "";
    if (!job->excerpt_count)
        return 0;
    if (judgement->scope.rounds > 1)
        snprintf(rounds, sizeof rounds, " and %d rounds", (int)judgement->scope.rounds);
    if (table_add_warning(
            table, error,
            "run %lld: %d of %d steps were loaded and analyzed, in %zu blocks%s: the first and last "
            "steps, unusual steps, and some in between; %s (--memory %lld loads all)",
            run, (int)job_loaded_steps(job) - job->first_step, (int)job_run_steps(job) - job->first_step,
            job->excerpt_count, rounds,
            screened->is_told ? "for the other steps, only the durations of steps and operations were read"
                              : "nothing is known about the other steps, because operations have no "
                                "durations",
            mib))
        return -1;
    return screened->left_out &&
           table_add_warning(
               table, error,
               "run %lld: %d of %d blocks of unusual steps were not loaded, the first from step %d "
               "on",
               run, (int)screened->left_out, (int)screened->unusual, (int)screened->left_first);
}

/* Warns about what reports of NCCL's RAS on a job that may still run can show, and what they cannot. */
static int caution_watched(const struct job *job, struct table *table, struct error *error)
{
    const struct job_watch *watch = &job->watch;
    const char *said = NULL;
    if (watch->is_watched && !watch->has_counts)
        said =
            "NCCL's RAS reports no operation counts, or all are 0, which also happens in running jobs: the "
            "progress of ranks cannot be determined; run ncclras -f json (NCCL 2.28.7 and later) again";
    else if (watch->has_moved)
        said = "ranks launched operations between the last two dumps of NCCL's RAS: the job is running";
    else if (watch->is_watched && watch->no_progress_ns == 0)
        said =
            "there is only one dump of NCCL's RAS, so whether the job is running cannot be determined; run "
            "ncclras -f json (NCCL 2.28.7 and later) again after a minute, and ingest both dumps";
    return said ? table_add_warning(table, error, "run %lld: %s", (long long)job->run_id, said) : 0;
}

static int caution_diagnosed(const struct job *job, const struct baseline *baseline, struct table *table,
                             struct error *error)
{
    if (!job->operation_count)
        return table_add_warning(table, error,
                                 "run %lld: the trace contains no operations, so nothing was analyzed",
                                 (long long)job->run_id) ||
               caution_bare_calls(job->store, job->run_id, table, error);
    return caution_bare_calls(job->store, job->run_id, table, error) ||
           warn_of_times(job, baseline, table, error) || warn_of_ranks(job, table, error) ||
           warn_of_gaps(job, table, error);
}

/* Whether a finding quotes a warning. Its evidence then has the other warnings as well. */
static int is_quoted(const struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].warning)
            return 1;
    return 0;
}

/* Logs may have no timestamps; then the order of files does not show which warning came first. */
static int is_earlier(const struct job_warning *warning, const struct job_warning *than)
{
    return warning->first_ns != TIME_UNKNOWN &&
           (than->first_ns == TIME_UNKNOWN || warning->first_ns < than->first_ns);
}

/*
 * Warns if ranks of a run report failures that no finding covers (a peer that closed its connection,
 * transfers that were given up, a port that went down). Needs what findings_find fills in.
 */
static int caution_unexplained_failures(const struct job *job, const struct findings *findings,
                                        struct table *table, struct error *error)
{
    const struct job_warning *first = NULL;
    int32_t last = -1;
    size_t ranks = 0;
    int is_timed = 1;
    for (size_t i = 0; i < job->warning_count; i++) {
        const struct job_warning *warning = &job->warnings[i];
        if (!warning->text || !reported_is_failure(warning->kind) || job_went_on_after(job, warning))
            continue;
        is_timed &= warning->first_ns != TIME_UNKNOWN;
        first = !first || is_earlier(warning, first) ? warning : first;
        ranks += warning->rank != last;
        last = warning->rank;
    }
    if (!first || is_quoted(findings))
        return 0;
    return table_add_warning(table, error,
                             "run %lld: %zu rank%s reported failures that do not show the rank at fault, %s "
                             "rank %s: \"%s\". These logs do not contain the cause; see",
                             (long long)job->run_id, ranks, ranks == 1 ? "" : "s",
                             is_timed ? "first" : "for example", job->ranks[first->rank].name, first->text) ||
           warning_add_command(table, job->store, 0, "info --warnings", error);
}

/* Warns if findings are shown and less than half of the job was analyzed. */
static int caution_scope(const struct judgement *judgement, struct table *table, struct error *error)
{
    struct buffer text = BUFFER_INIT;
    if (judgement->scope.blindness != BLIND_LITTLE)
        return 0;
    int failed =
        scope_append_judged(&judgement->scope, &text) || buffer_append_text(&text, "; not analyzed: ") ||
                scope_append_gaps(&judgement->scope, &text)
            ? error_no_memory(error)
            : table_add_warning(table, error, "run %lld: only this part of the job could be analyzed: %s",
                                (long long)judgement->job->run_id, text.data);
    buffer_release(&text);
    return failed;
}

/*
 * Warns if most traces are truncated and no finding names the rank that stopped. Needs what findings_find
 * fills in.
 */
static int caution_truncated_traces(const struct job *job, const struct findings *findings,
                                    struct table *table, struct error *error)
{
    return job->common_cut == CUT_NONE || findings_explain_stop(findings)
               ? 0
               : table_add_warning(table, error,
                                   "run %lld: most traces have no end marker and no rank is visibly waiting "
                                   "for another: the "
                                   "job was stopped or still running, or the files were truncated",
                                   (long long)job->run_id);
}

/*
 * Warns if dumps were written while the job ran, in which case diagnose does not search for who waits for
 * whom.
 */
static int caution_snapshot(const struct job *job, const struct findings *findings, struct table *table,
                            struct error *error)
{
    if (findings->is_snapshot)
        return table_add_warning(
            table, error,
            "run %lld: all dumps were written within a second of the last calls in them, so the job was "
            "running, and ranks were not checked for a hang; if the job hangs, dump it again",
            (long long)job->run_id);
    return 0;
}

/*
 * What makes stragglers point at one rank: the others waited for its own delay for this share of the run, and
 * this many times as long as for any other rank without a finding.
 */
static const double SHARE_OF_RUN = 0.03;
enum { TIMES_OF_OTHERS = 2 };

/* The rank without a finding whose own delay caused most wait time; -1: none is far ahead of the others. */
static int32_t clear_straggler(const struct delay *delays, size_t ranks, const struct findings *findings,
                               int64_t whole_ns)
{
    int64_t most_ns = 0, second_ns = 0;
    int32_t most = -1;
    for (int32_t rank = 0; rank < (int32_t)ranks; rank++) {
        if (findings_of_rank(findings, rank))
            continue;
        if (delays[rank].caused_ns > most_ns) {
            second_ns = most_ns;
            most_ns = delays[rank].caused_ns;
            most = rank;
        } else if (delays[rank].caused_ns > second_ns)
            second_ns = delays[rank].caused_ns;
    }
    double share = ratio_of(most_ns, whole_ns) / (double)(ranks > 1 ? ranks - 1 : 1);
    return share >= SHARE_OF_RUN && second_ns <= most_ns / TIMES_OF_OTHERS ? most : -1;
}

static int has_low_finding(const struct findings *findings, int32_t rank)
{
    for (size_t i = 0; i < findings->count; i++)
        if (finding_has_rank(&findings->items[i], rank))
            return 1;
    return 0;
}

/* Why a rank that others wait for is not named. */
static const char *why_not_named(const struct judgement *judgement, const struct findings *findings,
                                 int32_t rank)
{
    int32_t alike = judgement->baseline->same_work ? judgement->baseline->same_work[rank] : 0;
    if (has_low_finding(findings, rank))
        return "the finding of this rank has low confidence (diagnose --all --explain shows why)";
    if (alike < 2)
        return "no other rank does the same work, so it may be slower by design";
    if (alike == 2)
        return "only one other rank does the same work, so it cannot be determined which of the two is "
               "normal";
    return "its own time is within what its peers vary by, or another rank may have delayed it";
}

/* If stragglers points at one rank and no finding names it, says why not. */
static int caution_straggler(const struct judgement *judgement, const struct findings *findings,
                             const struct transfer_excess *transfers, struct table *table,
                             struct error *error)
{
    const struct job *job = judgement->job;
    int64_t whole_ns = judgement->longer.whole_ns;
    if (whole_ns <= 0 || !transfers || findings_explain_stop(findings))
        return 0;
    struct delay *delays = delays_measure(job, judgement->baseline, transfers, error);
    int32_t rank = delays ? clear_straggler(delays, job->rank_count, findings, whole_ns) : -1;
    int64_t others = (int64_t)job->rank_count - 1;
    int64_t each_ns = rank >= 0 && others > 0 ? delays[rank].caused_ns / others : 0;
    int failed = !delays;
    free(delays);
    /* Without call times, stragglers counts these waits as unexplained. */
    if (rank < 0 || !job_records_calls(job, rank))
        return failed ? -1 : 0;
    return table_add_warning(
        table, error,
        "run %lld: stragglers shows that each other rank waited %.3g ms for rank %s, at least %d times as "
        "long as for any other rank without a finding, but %s",
        (long long)job->run_id, (double)each_ns / 1e6, job->ranks[rank].name, TIMES_OF_OTHERS,
        why_not_named(judgement, findings, rank));
}

int caution_run(const struct judgement *judgement, const struct findings *findings,
                const struct transfer_excess *transfers, int is_told, struct table *table,
                struct error *error)
{
    const struct job *job = judgement->job;
    /* If no culprit can be named, this is the only information about what the job waits for. */
    int is_open = !findings_explain_stop(findings) &&
                  (judgement->scope.blindness != BLIND_NOT || findings->unexplained_hang.is_known);
    return caution_unexplained_failures(job, findings, table, error) ||
           (is_open && caution_unfinished(job, table, error)) ||
           (!findings_explain_stop_confidently(findings) && caution_watched(job, table, error)) ||
           caution_excerpts(judgement, table, error) ||
           caution_diagnosed(job, judgement->baseline, table, error) || caution_bounds(job, table, error) ||
           caution_truncated_traces(job, findings, table, error) ||
           caution_snapshot(job, findings, table, error) ||
           (is_told && caution_scope(judgement, table, error)) ||
           caution_longer_steps(job, judgement->baseline, transfers, &judgement->longer, table, error) ||
           caution_straggler(judgement, findings, transfers, table, error);
}

static int append_united(struct statement *row, struct table *table, struct error *error)
{
    const char *false_times = statement_text(row, 4);
    return table_add_warning(
        table, error, "run %lld: %s was also recorded by %s; %lld duplicate record%s counted once%s%s%s",
        (long long)statement_integer(row, 0), statement_text(row, 1), statement_text(row, 2),
        (long long)statement_integer(row, 3), statement_integer(row, 3) == 1 ? " is" : "s are",
        false_times ? ". Those of " : "", false_times ? false_times : "",
        false_times ? " are not used: its kernel times belong to other operations" : "");
}

static int append_doubt(struct statement *row, struct table *table, struct error *error)
{
    return table_add_warning(
        table, error, "runs %lld and %lld may be the same job from two recorders; they are not merged: %s",
        (long long)statement_integer(row, 0), (long long)statement_integer(row, 1), statement_text(row, 2));
}

static int append_libraries(struct statement *row, struct table *table, struct error *error)
{
    return table_add_warning(
        table, error, "run %lld: %lld operations are kernels without NCCL (%s); their sizes are unknown",
        (long long)statement_integer(row, 0), (long long)statement_integer(row, 2), statement_text(row, 1));
}

static int append_detached(struct statement *row, struct table *table, struct error *error)
{
    int64_t files = statement_integer(row, 1);
    return table_add_warning(
        table, error,
        "run %lld: the processes of %lld trace%s also sent data for other processes of their host (PXN), and "
        "the recorder does not say for which: these transfers are on no link, and slow ones cannot be "
        "detected. Record with the plugin of ncclprof, or set NCCL_PXN_DISABLE=1",
        (long long)statement_integer(row, 0), (long long)files, files == 1 ? "" : "s");
}

static int append_rows(struct store *store, const struct runs *runs, const char *sql,
                       int (*say)(struct statement *, struct table *, struct error *), struct table *table,
                       struct error *error)
{
    struct statement *row = store_prepare_for(store, sql, runs->only, error);
    int more = row ? 1 : -1;
    while (more == 1 && (more = statement_step(row, error)) == 1)
        if (say(row, table, error))
            more = -1;
    statement_free(row);
    return more;
}

int caution_recorders(struct store *store, const struct runs *runs, struct table *table, struct error *error)
{
    return append_rows(store, runs, schema_analysis_caution_witnesses, append_united, table, error) ||
                   append_rows(store, runs, schema_analysis_caution_doubts, append_doubt, table, error) ||
                   append_rows(store, runs, schema_analysis_caution_libraries, append_libraries, table,
                               error) ||
                   append_rows(store, runs, schema_analysis_caution_detached, append_detached, table, error)
               ? -1
               : 0;
}

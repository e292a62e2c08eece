/*
 * Runs the analyses of lib/diagnose and lib/hang on one run and collects their findings, with two threads.
 * Also writes the lines that diagnose prints first: the headline and the verdict without findings.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "hang/hang.h"
#include "job/job.h"
#include "model/model.h"
#include "report/internal.h"
#include "report/steps.h"
#include "report/verdicts.h"

#include <stdlib.h>
#include <string.h>

static int note_steps(struct findings *findings, const struct job *job, const struct baseline *baseline)
{
    int64_t usual_ns;
    if (step_usual_ns(baseline, &usual_ns))
        return -1;
    for (size_t i = 0; i < findings->count; i++) {
        struct finding *finding = &findings->items[i];
        finding->step_ns = usual_ns == TIME_UNKNOWN ? 0 : usual_ns;
        finding->breaks = job_breaks_in(job, finding->first_step, finding->last_step);
    }
    return 0;
}

/* The arguments of findings_find, and the results of two threads that are independent of each other. */
struct search {
    const struct job *job;
    struct baseline *baseline;
    struct transfer_excess **transfers;
    const struct diagnose_options *options;
    struct findings *longer; /* what made steps longer */
    struct findings stopped; /* owned: what stopped the job */
    struct error errors[2];  /* one per thread */
};

/* Finds the slow transfers. The caller releases the results, also after an error. */
static int find_transfers(const struct job *job, const struct baseline *baseline, struct edges *edges,
                          struct transfer_excess **transfers, const struct diagnose_options *options,
                          struct error *error)
{
    *transfers = transfers_new(job);
    if (!*transfers)
        return error_no_memory(error);
    if (edges_init(edges, job, baseline, options->sigmas, error))
        return -1;
    return transfers_find(*transfers, job, baseline, edges, options->sigmas) ? error_no_memory(error) : 0;
}

/* The same, and attributes lateness of hidden origin. */
static int find_excess(const struct search *search, struct edges *edges, struct error *error)
{
    int failed = baseline_count_hidden(search->baseline, search->job) ? error_no_memory(error) : 0;
    baseline_forget_hidden(search->baseline);
    return failed ||
           find_transfers(search->job, search->baseline, edges, search->transfers, search->options, error);
}

static int find_longer(struct search *search, struct error *error)
{
    const struct job *job = search->job;
    struct baseline *baseline = search->baseline;
    const struct diagnose_options *options = search->options;
    struct findings *findings = search->longer;
    struct edges edges = {0};
    struct replay replay = {0}, *timed = job->timed_operations ? &replay : NULL;
    int64_t *cost_ns = array_new((size_t)baseline->step_count + 1, sizeof *cost_ns);
    int failed = cost_ns ? find_excess(search, &edges, error) : error_no_memory(error);
    struct transfer_excess *transfers = *search->transfers;
    failed =
        failed || (timed && replay_init(timed, job, &baseline->excess, transfers, error)) ||
        findings_take_late_notices(findings, job, baseline, &edges, transfers, timed, options, error) ||
        findings_take_explanations(findings, cost_ns, job, baseline, &edges, transfers, timed, options,
                                   error) ||
        findings_take_silent_hosts(findings, cost_ns, job, baseline, &edges, transfers, options, error) ||
        findings_take_network(findings, cost_ns, job, baseline, &edges, transfers, timed, options, error) ||
        findings_add_slow_drains(findings, cost_ns, job, baseline, &edges, transfers, timed, error);
    baseline->order = replay.moves;
    replay.moves = NULL;
    replay_release(&replay);
    failed = failed || findings_take_busiest(findings, job, baseline, options, error) ||
             findings_take_absent(findings, job, baseline, options, error) ||
             findings_measure_uncompared(findings, job, baseline, &edges, error);
    edges_release(&edges);
    free(cost_ns);
    return failed;
}

/* The end of a recording that was switched off does not show where its rank stopped. */
static int find_stopped(struct search *search, struct error *error)
{
    const struct job *job = search->job;
    struct extents extents;
    if (job->is_windows || job->is_later_round)
        return 0;
    int failed = extents_init(&extents, job) ? error_no_memory(error) : 0;
    failed =
        failed ||
        find_absence(job, search->baseline->positions, &extents, search->options, &search->stopped, error) ||
        find_laggards(job, search->baseline, &search->stopped, error);
    extents_release(&extents);
    return failed;
}

static int find_part(void *context, size_t worker, size_t first, size_t end)
{
    struct search *search = context;
    for (size_t i = first; i < end; i++)
        if (i == 0 ? find_longer(search, &search->errors[0]) : find_stopped(search, &search->errors[1]))
            return -1;
    return 0;
}

/* Findings of a stopped job come last. */
static int find_both(struct search *search, struct error *error)
{
    int failed = parallel_for(2, 1, job_threads(search->job), find_part, search);
    for (size_t i = 0; i < 2; i++)
        if (search->errors[i].depth) {
            if (error)
                *error = search->errors[i];
            return -1;
        }
    return failed || findings_append(search->longer, &search->stopped) ? error_no_memory(error) : 0;
}

int findings_find(struct findings *findings, const struct job *job, struct baseline *baseline,
                  struct transfer_excess **transfers, const struct diagnose_options *options,
                  struct error *error)
{
    struct search search = {.job = job,
                            .baseline = baseline,
                            .transfers = transfers,
                            .options = options,
                            .longer = findings,
                            .stopped = {.off = options->off},
                            .errors = {ERROR_INIT, ERROR_INIT}};
    const struct baseline_options own = {.sigmas = options->sigmas};
    findings->off = options->off;
    if (baseline_init(baseline, job, &own, error))
        return -1;
    int failed = find_both(&search, error);
    findings_release(&search.stopped);
    if (!failed && (find_ras_unresponsive(job, findings) || find_broken_transfers(job, findings) ||
                    find_unfinished_creations(job, findings) || find_reported_absence(job, findings) ||
                    find_reported_errors(job, findings) || find_late_starts(job, findings) ||
                    findings_unite(findings, job) || note_steps(findings, job, baseline) ||
                    findings_detail(findings, job, baseline, *transfers) ||
                    findings_fit_costs(findings, job, baseline, options)))
        failed = error_no_memory(error);
    return failed || findings_place_late_hosts(findings, job, baseline, error) ||
                   findings_take_causes(findings, job, baseline->first_step, error)
               ? -1
               : 0;
}

int excess_find(const struct job *job, struct baseline *baseline, struct transfer_excess **transfers,
                const struct diagnose_options *options, int only_own, struct error *error)
{
    const struct search search = {
        .job = job, .baseline = baseline, .transfers = transfers, .options = options};
    const struct baseline_options sought = {.sigmas = options->sigmas, .only_own = only_own};
    struct edges edges = {0};
    if (baseline_init(baseline, job, &sought, error))
        return -1;
    int failed = only_own ? find_transfers(job, baseline, &edges, transfers, options, error)
                          : find_excess(&search, &edges, error);
    edges_release(&edges);
    return failed ? -1 : 0;
}

int diagnose_options_usual(struct diagnose_options *options, struct store *store, const char *memory_mib,
                           struct error *error)
{
    *options = (struct diagnose_options){0};
    return option_memory(memory_mib, &options->memory_bytes, error) ||
                   option_thresholds(MIN_GAIN_PERCENT, SIGMAS, options, error) ||
                   option_rules_off(&options->off, error) || job_count_pieces(store, &options->pieces, error)
               ? -1
               : 0;
}

/* Most blocks of longer steps that are listed. */
enum { ROWS_NAMED = 3 };

static int append_longer(const struct longer_steps *longer, struct buffer *text)
{
    size_t named = longer->count < ROWS_NAMED ? longer->count : ROWS_NAMED;
    for (size_t i = 0; i < named; i++) {
        const struct longer_row *row = &longer->rows[i];
        if (buffer_append_text(text, i ? ", " : "slow steps: ") ||
            (row->run_first == row->run_last
                 ? buffer_printf(text, "%d (", (int)row->run_first)
                 : buffer_printf(text, "%d-%d (", (int)row->run_first, (int)row->run_last)) ||
            text_time(text, row->took_ns) ||
            buffer_append_text(text, row->run_first == row->run_last ? ")" : " each)"))
            return -1;
    }
    if (longer->count > named && buffer_printf(text, " and %zu more ranges", longer->count - named))
        return -1;
    return named ? buffer_append_byte(text, '\n') : 0;
}

static int append_job(const struct judgement *judgement, struct buffer *text)
{
    const struct job *job = judgement->job;
    int64_t ranks = judgement->scope.ranks, recorded = judgement->scope.recorded_ranks;
    int failed = ranks > recorded
                     ? buffer_printf(text, "%lld of %lld ranks", (long long)recorded, (long long)ranks)
                     : buffer_printf(text, "%lld rank%s", (long long)recorded, recorded == 1 ? "" : "s");
    size_t hosts = judgement->hosts;
    if (!failed && hosts)
        failed = buffer_printf(text, " on %zu host%s", hosts, hosts == 1 ? "" : "s");
    int steps = (int)(job_run_steps(job) - job->first_step);
    failed = failed || (job->step_count ? buffer_printf(text, ", %d step%s", steps, steps == 1 ? "" : "s")
                                        : buffer_append_text(text, ", no steps detected"));
    if (!failed && judgement->shares.usual_step_ns != TIME_UNKNOWN)
        failed =
            buffer_append_text(text, ", baseline step ") || text_time(text, judgement->shares.usual_step_ns);
    if (!failed && judgement->stopped_step >= 0)
        failed = buffer_printf(text, "\nstopped in step %d (hang or crash)",
                               (int)job_run_step(job, judgement->stopped_step));
    return failed || buffer_append_byte(text, '\n');
}

/* Least wait time, in GPU hours, that is shown as a figure of its own. */
static const double GPU_HOURS = 0.1, HOUR_NS = 3600e9;

static int percent_of(int64_t part_ns, int64_t whole_ns, struct buffer *text)
{
    double percent = 100 * (double)part_ns / (double)whole_ns;
    return buffer_printf(text, "%.*f %%", percent > 0 && percent < 9.95, percent);
}

static int append_times(const struct judgement *judgement, struct buffer *text)
{
    const struct time_shares *shares = &judgement->shares;
    int64_t waiting_ns = judgement_waiting_ns(judgement);
    if (shares->communication_ns == TIME_UNKNOWN)
        return 0;
    if (buffer_append_text(text, "time per rank: ") ||
        percent_of(shares->communication_ns, shares->steps_ns, text) ||
        buffer_append_text(text, " in communication"))
        return -1;
    if (waiting_ns != TIME_UNKNOWN &&
        (buffer_append_text(text, shares->waiting_ns > shares->communication_ns ? ", " : ", including ") ||
         percent_of(shares->waiting_ns, shares->steps_ns, text) ||
         buffer_append_text(text, " waiting for other ranks")))
        return -1;
    if (waiting_ns != TIME_UNKNOWN && (double)waiting_ns >= GPU_HOURS * HOUR_NS &&
        buffer_printf(text, " (%.1f GPU hours)", (double)waiting_ns / HOUR_NS))
        return -1;
    return buffer_append_byte(text, '\n');
}

/* "594 ms of 867 ms (69 %); findings explain 590 ms, 4 ms unexplained". */
static int append_loss(const struct longer_steps *longer, struct buffer *text)
{
    int64_t rest_ns = longer->lost_ns - longer->explained_ns;
    if (longer->lost_ns <= 0)
        return buffer_append_text(text, "none of ") || text_time(text, longer->whole_ns);
    if (text_time(text, longer->lost_ns))
        return -1;
    /* Without step times there is no whole. */
    if (longer->whole_ns > longer->lost_ns || rest_ns > 0)
        if (buffer_append_text(text, " of ") || text_time(text, longer->whole_ns) ||
            buffer_append_text(text, " (") || percent_of(longer->lost_ns, longer->whole_ns, text) ||
            buffer_append_byte(text, ')'))
            return -1;
    if (longer->explained_ns <= 0)
        return buffer_append_text(text, "; no finding explains this");
    return buffer_append_text(text, "; findings explain ") || text_time(text, longer->explained_ns) ||
           (longer->hidden_ns > 0 &&
            (buffer_append_text(text, " (") || text_time(text, longer->hidden_ns) ||
             buffer_append_text(text, " of it by several findings at the same time)"))) ||
           (rest_ns > 0 && (buffer_append_text(text, ", ") || text_time(text, rest_ns) ||
                            buffer_append_text(text, " unexplained")));
}

/* Appends a line for each reason: "unexplained: 4 ms in 2 steps: REASON". */
static int append_unexplained(const struct longer_steps *longer, struct buffer *text)
{
    for (int i = 0; i < LOSS_REASONS; i++) {
        const struct loss_part *part = &longer->undetermined[i];
        if (part->lost_ns > 0 &&
            (buffer_append_text(text, "unexplained: ") || text_time(text, part->lost_ns) ||
             buffer_printf(text, " in %d step%s: %s\n", (int)part->steps, part->steps == 1 ? "" : "s",
                           loss_reason_text((enum loss_reason)i))))
            return -1;
    }
    return 0;
}

/*
 * "coverage: 576 of 704 operations (128 without a duration)". Coverage is of durations: a job that stopped is
 * judged by its calls, too.
 */
static int append_coverage(const struct judgement *judgement, struct buffer *text)
{
    const struct scope *scope = &judgement->scope;
    struct buffer gaps = BUFFER_INIT;
    int failed =
        buffer_printf(text, "coverage: %lld of %lld operations", (long long)scope->judged,
                      (long long)(scope->operations - scope->warm_up)) ||
        scope_name_gaps(scope, &gaps) ||
        (gaps.length && (buffer_append_text(text, " (") || buffer_append(text, gaps.data, gaps.length) ||
                         buffer_append_byte(text, ')'))) ||
        (judgement->stopped_step >= 0 &&
         buffer_append_text(text, "; the stop was found from calls, not from durations")) ||
        buffer_append_byte(text, '\n');
    buffer_release(&gaps);
    return failed;
}

static int append_lost(const struct judgement *judgement, struct buffer *text)
{
    const struct scope *scope = &judgement->scope;
    int64_t unjudged = scope->operations - scope->warm_up - scope->judged;
    if (judgement->longer.whole_ns <= 0)
        return 0;
    const char *lost = judgement->stopped_step >= 0    ? "time lost before the job stopped: "
                       : judgement->job->excerpt_count ? "time lost in the loaded steps: "
                                                       : "time lost: ";
    if (judgement->covers_little && judgement->longer.lost_ns <= 0)
        return unjudged > 0 && append_coverage(judgement, text);
    return buffer_append_text(text, lost) || append_loss(&judgement->longer, text) ||
           (judgement->hidden_wait.step_ns &&
            buffer_append_text(text, ", not counting waits for ranks without a trace")) ||
           buffer_append_byte(text, '\n') || append_unexplained(&judgement->longer, text) ||
           (unjudged > 0 && append_coverage(judgement, text));
}

/* "run 2 (traces-b): ", with the name that --run accepts. */
static int append_run_of(const struct job *job, struct buffer *text)
{
    return buffer_printf(text, "run %lld (", (long long)job->run_id) ||
                   escape_terminal(text, job->run_name, strlen(job->run_name)) ||
                   buffer_append_text(text, "): ")
               ? -1
               : 0;
}

int headline_append_job(const struct judgement *judgement, int names_run, struct buffer *text)
{
    if (!judgement->scope.operations)
        return 0;
    if (text->length && buffer_append_byte(text, '\n'))
        return -1;
    if (names_run && append_run_of(judgement->job, text))
        return -1;
    return append_job(judgement, text) || append_longer(&judgement->longer, text) ||
                   append_times(judgement, text) || append_lost(judgement, text) ||
                   buffer_append_byte(text, '\n')
               ? -1
               : 0;
}

/* "2.45 ms (10 % of the median step) in a single step" */
static int append_fault(int64_t time_ns, int64_t step_ns, const char *of, const char *when,
                        struct buffer *text)
{
    double percent = 100 * (double)time_ns / (double)step_ns;
    return text_time(text, time_ns) ||
           buffer_printf(text, " (%.*f %%%s) %s", percent < 9.95, percent, of, when);
}

/* Appends the smallest faults that would have been detected; nothing if there are none. */
static int append_sight(const struct judgement *judgement, struct buffer *text)
{
    const struct smallest_fault *smallest = &judgement->smallest;
    int64_t step_ns = judgement->baseline->median_step_ns;
    if (smallest->one_step_ns == TIME_UNKNOWN || step_ns <= 0)
        return 0;
    if (buffer_append_text(text, judgement->job->excerpt_count
                                     ? "    Detection limit for one slow rank in the loaded steps: "
                                     : "    Detection limit for one slow rank: ") ||
        append_fault(smallest->one_step_ns, step_ns, " of the median step", "in a single step", text) ||
        buffer_append_text(text, ", ") ||
        append_fault(smallest->three_steps_ns, step_ns, "", "in three consecutive steps", text))
        return -1;
    if (smallest->every_step_ns == TIME_UNKNOWN)
        return buffer_append_text(text,
                                  "; a rank that is slow in every step cannot be detected: too few peers\n");
    return buffer_append_text(text, ", ") ||
           append_fault(smallest->every_step_ns, step_ns, "", "in every step\n", text);
}

/* "    Cannot be determined: whether ...\n        Next: ...\n", in text that comes from a trace in part. */
static int append_open_question(const struct buffer *question, const char *remedy, struct buffer *text)
{
    return buffer_append_text(text, "    Cannot be determined: ") ||
                   escape_terminal(text, question->data, question->length) ||
                   buffer_printf(text, ". To find out, %s.\n", remedy)
               ? -1
               : 0;
}

/* Appends that roots are not known. */
static int append_rootless(const struct judgement *judgement, struct buffer *text)
{
    struct buffer said = BUFFER_INIT;
    int failed =
        judgement->uncompared.rootless && (uncompared_append_roots(&judgement->uncompared, &said) ||
                                           append_open_question(&said, UNCOMPARED_ROOTS_REMEDY, text));
    buffer_release(&said);
    return failed ? -1 : 0;
}

/* Appends what would be slow without showing. */
static int append_uncompared(const struct judgement *judgement, struct buffer *text)
{
    const struct uncompared *uncompared = &judgement->uncompared;
    struct buffer said = BUFFER_INIT;
    int failed = 0;
    if (uncompared->network_ns > 0)
        failed = uncompared_append_network(uncompared, judgement->baseline->median_step_ns, &said) ||
                 append_open_question(&said, UNCOMPARED_NETWORK_REMEDY, text);
    buffer_clear(&said);
    if (!failed && uncompared->rank >= 0)
        failed = uncompared_append_host(uncompared, judgement->job, &said) ||
                 append_open_question(&said, UNCOMPARED_HOST_REMEDY, text);
    buffer_release(&said);
    return failed || append_rootless(judgement, text) ? -1 : 0;
}

/* Appends a line with what was analyzed and the smallest fault that would have been detected. */
static int append_judged(const struct judgement *judgement, struct buffer *text)
{
    struct buffer gaps = BUFFER_INIT;
    int failed = buffer_append_text(text, "    Coverage: ") || scope_append_judged(&judgement->scope, text) ||
                 scope_append_gaps(&judgement->scope, &gaps) ||
                 (gaps.length && (buffer_append_text(text, ". Not analyzed: ") ||
                                  buffer_append(text, gaps.data, gaps.length))) ||
                 buffer_append_byte(text, '\n');
    buffer_release(&gaps);
    return failed || append_sight(judgement, text) ? -1 : 0;
}

static int append_partly_judged(const struct judgement *judgement, struct buffer *text)
{
    return buffer_append_text(text, NO_PROBLEM_FOUND " in the part of the job that could be analyzed: ") ||
                   scope_append_judged(&judgement->scope, text) ||
                   buffer_append_text(text, "\n    Not analyzed: ") ||
                   scope_append_gaps(&judgement->scope, text) || buffer_append_byte(text, '\n') ||
                   append_sight(judgement, text) || append_uncompared(judgement, text)
               ? -1
               : 0;
}

static int append_undetermined(const struct judgement *judgement, struct buffer *text)
{
    struct buffer said = BUFFER_INIT;
    int failed = hang_append_reason(&judgement->unexplained_hang, judgement->job, &said) ||
                 buffer_append_text(text, "the rank at fault cannot be determined: ") ||
                 escape_terminal(text, said.data, said.length);
    buffer_clear(&said);
    failed = failed || hang_append_remedy(&judgement->unexplained_hang, judgement->job, &said) ||
             buffer_append_text(text, ".\n    Next: ") || escape_terminal(text, said.data, said.length) ||
             buffer_append_text(text, ".\n");
    buffer_release(&said);
    return failed;
}

static int append_hidden_wait(const struct judgement *judgement, struct buffer *text)
{
    struct buffer said = BUFFER_INIT;
    int failed = hidden_wait_append_reason(&judgement->hidden_wait, judgement->job, &said) ||
                 escape_terminal(text, said.data, said.length);
    buffer_clear(&said);
    failed = failed || hidden_wait_append_remedy(judgement->job, &said) ||
             buffer_append_text(text, "\n    Next: ") || escape_terminal(text, said.data, said.length) ||
             buffer_append_text(text, ".\n");
    buffer_release(&said);
    return failed || append_judged(judgement, text) ? -1 : 0;
}

int headline_append_verdict(const struct judgement *judgement, int names_run, struct buffer *text)
{
    const struct scope *scope = &judgement->scope;
    int is_longer = longer_steps_alarm(&judgement->longer);
    if (names_run && scope->blindness == BLIND_NO_OPERATIONS && !scope->operations)
        return 0;
    if (names_run && buffer_printf(text, "run %lld: ", (long long)judgement->job->run_id))
        return -1;
    if (judgement->unexplained_hang.is_known && append_undetermined(judgement, text))
        return -1;
    if (is_longer && (scope->blindness == BLIND_NOT || scope->blindness == BLIND_LITTLE))
        return buffer_append_text(text, "steps became longer; the rank at fault cannot be determined\n") ||
               append_judged(judgement, text) || append_rootless(judgement, text);
    if (judgement->unexplained_hang.is_known)
        return 0;
    if (scope->blindness != BLIND_NOT)
        return buffer_append_text(
                   text, is_longer ? "steps became longer; not enough data to find the rank at fault: "
                                   : NOT_ENOUGH_DATA ": ") ||
               scope_append_blindness(scope, text) || buffer_append_byte(text, '\n');
    if (judgement->hidden_wait.step_ns)
        return append_hidden_wait(judgement, text);
    if (scope_is_partial(scope))
        return append_partly_judged(judgement, text);
    return buffer_append_text(text, NO_PROBLEM_FOUND "\n") || append_judged(judgement, text) ||
           append_uncompared(judgement, text);
}

#include "analyse/analyses.h"
#include "analyse/diagnosis.h"
#include "analyse/filter.h"
#include "analyse/option.h"
#include "analyse/records.h"
#include "analyse/run_choice.h"
#include "analyse/summary.h"
#include "analyse/warning.h"
#include "base/escape.h"
#include "base/json_text.h"
#include "job/load.h"
#include "job/load_names.h"
#include "verdict/finding_text.h"
#include "verdict/longer_steps_text.h"
#include "verdict/rule_text.h"
#include "verdict/words.h"

#include <stdlib.h>
#include <string.h>

/* What is wrong with the jobs of a store, whose fault it is, since when, and what it costs. */

enum { OPTION_MIN_GAIN, OPTION_SIGMAS, OPTION_EXIT_CODE, OPTION_ALL, OPTION_EXPLAIN, OPTION_RUN };

static const struct analysis_option options[] = {
    {"min-gain", 0, "PERCENT",
     "what a finding must be worth, as a share of a median step, in each of its steps, to be of medium or "
     "high "
     "confidence",
     "3"},
    {"sigmas", 0, "N", "how far beyond the spread of its place an own or transfer time must stand out", "6"},
    {"exit-code", 0, NULL,
     "exit with 3 when there is a finding of medium or high confidence, of a job that stopped, or steps "
     "became "
     "longer with nobody to blame; with 4 when a tenth of the job or more could not be judged",
     NULL},
    {"all", 'a', NULL, "show findings of low confidence too (JSON and CSV always have them)", NULL},
    {"explain", 0, NULL, "say below each finding what the rules read that were asked (JSON always does)",
     NULL},
    RUN_OPTION,
};

static const struct column columns[] = {
    {.name = "kind",
     .type = CELL_TEXT,
     .description = "compute, host, network, missing, mismatch or ended_early"},
    {.name = "rank", .type = CELL_INTEGER, .description = "global rank at fault"},
    {.name = "process", .type = CELL_TEXT, .description = "name of the rank"},
    {.name = "tag", .type = CELL_TEXT, .description = "phase in which most of it sits"},
    {.name = "first_step", .type = CELL_INTEGER, .description = "first step concerned"},
    {.name = "last_step", .type = CELL_INTEGER, .description = "last step concerned"},
    {.name = "lost_us",
     .type = CELL_REAL,
     .unit = "us",
     .description = "what it cost the job, estimated by replay"},
    {.name = "confidence", .type = CELL_TEXT, .description = "high, medium or low"},
    {.name = "text", .type = CELL_TEXT, .description = "the finding as a sentence"},
    {.name = "evidence", .type = CELL_TEXT, .description = "figures that can be checked"},
    {.name = "peers",
     .type = CELL_TEXT,
     .description = "names of the ranks at the other ends of slow links, or that wait"},
    {.name = "run", .type = CELL_INTEGER, .description = "job"},
};

enum { COLUMN_COUNT = sizeof columns / sizeof *columns };

static int set_peers(const struct finding *finding, const struct job *job, struct table *table,
                     struct error *error)
{
    struct buffer names = BUFFER_INIT;
    int failed = finding_name_peers(finding, job, &names)
                     ? error_no_memory(error)
                     : table_set_text(table, 10, names.data ? names.data : "", error);
    buffer_release(&names);
    return failed;
}

static int add_row(const struct finding *finding, const struct job *job, const char *text,
                   struct table *table, struct error *error)
{
    const struct job_rank *rank = &job->ranks[finding->rank];
    if (table_add_row(table, error))
        return -1;
    if (rank->global_rank >= 0)
        table_set_integer(table, 1, rank->global_rank);
    if (finding->first_step >= 0) {
        table_set_integer(table, 4, finding->first_step);
        table_set_integer(table, 5, finding->last_step);
    }
    table_set_real(table, 6, (double)finding->lost_ns / 1e3);
    table_set_integer(table, 11, job->run_id);
    const char *tag = job_tag(job, finding->tag);
    return table_set_text(table, 0, finding_kind_name(finding->kind), error) ||
           table_set_text(table, 2, rank->name, error) || (tag && table_set_text(table, 3, tag, error)) ||
           table_set_text(table, 7, confidence_name(finding->confidence), error) ||
           table_set_text(table, 8, text, error) ||
           table_set_text(table, 9, finding->evidence.data ? finding->evidence.data : "", error) ||
           set_peers(finding, job, table, error);
}

struct diagnosis {
    const struct analysis_request *request;
    struct analysis_result *result;
    struct diagnose_options options;
    int show_low;
    int explains;
    int names_runs; /* there are several */
    size_t operations;
    struct summary summary;
    int found; /* of medium or high confidence, or of a job that stopped */
    int shown;
    int hidden;             /* low, not shown */
    struct buffer largest;  /* which of these cost most, in words */
    int64_t largest_ns;     /* and how much */
    int64_t listed;         /* that filters let through */
    int left_out;           /* of those that would be shown, by filters */
    struct buffer coverage; /* JSON objects */
};

/* Whether it is what filters ask for; the first ones where only so many are asked for. */
static int is_asked_for(struct diagnosis *diagnosis, const struct job *job, const struct finding *finding)
{
    const struct filter *filter = diagnosis->request->filter;
    if (!filter)
        return 1;
    int fits = filter_has_rank(filter, job->ranks[finding->rank].global_rank) &&
               filter_has_steps(filter, finding->first_step, finding->last_step) &&
               filter_is_text(filter->tag, job_tag(job, finding->tag));
    return fits && (!filter->top || diagnosis->listed++ < filter->top);
}

/* A finding of low confidence that is not shown: the largest is named. */
static int hide(struct diagnosis *diagnosis, const struct job *job, const struct finding *finding)
{
    struct buffer *text = &diagnosis->largest;
    diagnosis->hidden++;
    if (finding->lost_ns <= diagnosis->largest_ns)
        return 0;
    diagnosis->largest_ns = finding->lost_ns;
    buffer_clear(text);
    return text_time(text, finding->lost_ns) ||
           buffer_printf(text, ": %s, rank %s", finding_kind_name(finding->kind),
                         job->ranks[finding->rank].name) ||
           (finding->first_step >= 0 && buffer_printf(text, ", step %d", (int)finding->first_step));
}

static int report(struct diagnosis *diagnosis, const struct job *job, struct findings *findings,
                  struct error *error)
{
    findings_sort(findings);
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        struct buffer text = BUFFER_INIT;
        /* Why a job stopped, or computed nonsense, is told even where the trace cannot say whose fault it
         * was. */
        int shown =
            finding->confidence > CONFIDENCE_LOW || diagnosis->show_low || finding->kind >= FINDING_MISSING;
        diagnosis->found += finding->confidence > CONFIDENCE_LOW || finding->kind >= FINDING_MISSING;
        if (!is_asked_for(diagnosis, job, finding)) {
            diagnosis->left_out += shown;
            continue;
        }
        int failed = finding_say(finding, job, &text) ||
                     add_row(finding, job, text.data, &diagnosis->result->table, error) ||
                     finding_add_json(finding, job, text.data, &diagnosis->result->json) ||
                     (shown && finding_add_paragraph(finding, diagnosis->names_runs ? job->run_id : 0,
                                                     text.data, &diagnosis->result->text)) ||
                     (shown && diagnosis->explains &&
                      readings_explain(&finding->readings, &diagnosis->result->text)) ||
                     (!shown && hide(diagnosis, job, finding));
        buffer_release(&text);
        if (failed)
            return error_no_memory(error);
        diagnosis->shown += shown;
    }
    return 0;
}

static int note_coverage(struct diagnosis *diagnosis, const struct job *job)
{
    struct buffer *json = &diagnosis->coverage;
    return buffer_append_text(json, json->length ? ",{" : "{") ||
           text_json_integer(json, "run", job->run_id) ||
           text_json_integer(json, "ranks", (int64_t)job_recorded_ranks(job)) ||
           text_json_integer(json, "expected_ranks", job->expected_ranks) ||
           text_json_integer(json, "steps", job->step_count) ||
           text_json_string(json, "step_source", job->step_source) ||
           text_json_integer(json, "operations", (int64_t)job->operation_count) ||
           text_json_integer(json, "timed_operations", job->timed_operations) ||
           text_json_integer(json, "missing_operations", job->missing_sequence) ||
           text_json_integer(json, "left_out_operations", job->left_out) ||
           text_json_integer(json, "damaged_lines", job->damaged_lines) ||
           text_json_integer(json, "lost_events", job->lost_events) ||
           text_json_integer(json, "calls_without_operations", job->bare_calls) ||
           buffer_append_byte(json, '}');
}

/* The first is warm-up, and of two neither says which is the usual one. */
enum { STEPS_TO_COMPARE = 3 };

/* Network steps say when they were, whatever operations do. */
static const char *what_untimed_lack(const struct job *job)
{
    if (job->traffic_count)
        return "no operation says when it ran: late ranks cannot be told";
    return job->has_durations
               ? "no operation says when it ran: only durations can be compared, and late ranks "
                 "and slow links cannot be told apart"
               : "no operation says when it ran or how long it took: late ranks and slow links "
                 "cannot be told";
}

static int warn_of_times(const struct job *job, const struct baseline *baseline, struct table *table,
                         struct error *error)
{
    long long run = (long long)job->run_id;
    if (!job->timed_operations &&
        table_add_warning(table, error, "run %lld: %s", run, what_untimed_lack(job)))
        return -1;
    if (job->step_count < STEPS_TO_COMPARE)
        return table_add_warning(
            table, error, "run %lld: fewer than three steps could be told apart: nothing to compare with",
            run);
    return !job->timed_operations || baseline_is_regular(baseline)
               ? 0
               : table_add_warning(table, error,
                                   "run %lld: less than half of what ranks did has its place in a step: "
                                   "nothing can be held against what is usual there",
                                   run);
}

static int warn_of_ranks(const struct job *job, struct table *table, struct error *error)
{
    int64_t unhashed = 0;
    for (size_t i = 0; i < job->communicator_count; i++)
        unhashed += !job->communicators[i].hashed;
    if (!job->has_global_ranks &&
        table_add_warning(
            table, error,
            "run %lld: no communicator holds all processes: ranks are named by host and process",
            (long long)job->run_id))
        return -1;
    return caution_unhashed(job->run_id, unhashed, table, error) || caution_absent_ranks(job, table, error) ||
           caution_parts(job, table, error);
}

static int warn_of_gaps(const struct job *job, struct table *table, struct error *error)
{
    long long run = (long long)job->run_id;
    if (job->late_sequences &&
        table_add_warning(table, error,
                          "run %lld: %lld of %lld sequences of operations begin in the middle: what came "
                          "before is not in the traces",
                          run, (long long)job->late_sequences, (long long)job->sequences))
        return -1;
    int64_t lost = job->missing_sequence - job->left_out;
    if (lost > 0 &&
        table_add_warning(table, error, "run %lld: %lld operations are missing from their sequences", run,
                          (long long)lost))
        return -1;
    if (job->left_out &&
        table_add_warning(
            table, error,
            "run %lld: %lld operations are missing from their sequences on all ranks alike: left "
            "out by the recorder's filter (small ones: NCCL_INSPECTOR_DUMP_MIN_SIZE_BYTES), or lost",
            run, (long long)job->left_out))
        return -1;
    if (job->damaged_lines || job->lost_events)
        return table_add_warning(table, error,
                                 "run %lld: %lld damaged lines, %lld events lost by the recorder", run,
                                 (long long)job->damaged_lines, (long long)job->lost_events);
    return 0;
}

static int warn(struct diagnosis *diagnosis, const struct job *job, const struct baseline *baseline,
                struct error *error)
{
    struct table *table = &diagnosis->result->table;
    if (!job->operation_count)
        return table_add_warning(table, error, "run %lld: it holds no operations: nothing was judged",
                                 (long long)job->run_id) ||
               caution_bare_calls(job->store, job->run_id, table, error);
    return caution_bare_calls(job->store, job->run_id, table, error) ||
           warn_of_times(job, baseline, table, error) || warn_of_ranks(job, table, error) ||
           warn_of_gaps(job, table, error);
}

/* What was judged of the run, and what is worth a word of that; `shown` findings of it are. */
static int sum_up(struct diagnosis *diagnosis, const struct job *job, const struct baseline *baseline,
                  const struct transfer_excess *transfers, const struct findings *findings, int shown,
                  struct error *error)
{
    struct judgement judgement;
    struct table *table = &diagnosis->result->table;
    int failed =
        judgement_init(&judgement, job, baseline, findings, &diagnosis->options) ||
                summary_add_run(&diagnosis->summary, &judgement) ||
                (!shown && summary_add_headline(&diagnosis->summary, &judgement, diagnosis->names_runs))
            ? error_no_memory(error)
            : 0;
    failed = failed || (shown && caution_scope(&judgement, table, error)) ||
             caution_longer_steps(job, baseline, transfers, &judgement.longer, table, error);
    judgement_release(&judgement);
    return failed;
}

static int diagnose_run(struct diagnosis *diagnosis, int64_t run_id, struct error *error)
{
    struct job job;
    struct findings findings = {0};
    struct baseline baseline = {0};
    struct transfer_excess *transfers = NULL;
    int told = diagnosis->shown + diagnosis->left_out;
    if (job_load(&job, diagnosis->request->store, run_id, error))
        return -1;
    int failed = findings_find(&findings, &job, &baseline, &transfers, &diagnosis->options, error);
    failed = failed || report(diagnosis, &job, &findings, error) || warn(diagnosis, &job, &baseline, error) ||
             caution_crowd(&findings.crowd, &job, &diagnosis->result->table, error) ||
             caution_bounds(&job, &findings, &diagnosis->result->table, error) ||
             caution_cut(&job, &findings, &diagnosis->result->table, error) ||
             caution_standstill(&job, &findings, &diagnosis->result->table, error) ||
             sum_up(diagnosis, &job, &baseline, transfers, &findings,
                    diagnosis->shown + diagnosis->left_out - told, error);
    if (!failed && note_coverage(diagnosis, &job))
        failed = error_no_memory(error);
    diagnosis->operations += job.operation_count;
    free(transfers);
    baseline_release(&baseline);
    findings_release(&findings);
    job_release(&job);
    return failed;
}

static int say_hidden(const struct diagnosis *diagnosis, struct buffer *text)
{
    return buffer_printf(text, "%d of low confidence not shown (--all)", diagnosis->hidden) ||
           (diagnosis->largest.length &&
            (buffer_append_text(text, ", the largest ") ||
             escape_terminal(text, diagnosis->largest.data, diagnosis->largest.length))) ||
           buffer_append_byte(text, '\n');
}

/* "coverage", "warnings" and the end of the JSON; what to say when there is nothing to say. */
static int close_result(struct diagnosis *diagnosis)
{
    struct buffer *json = &diagnosis->result->json, *text = &diagnosis->result->text;
    const struct table *table = &diagnosis->result->table;
    int failed = buffer_append_text(json, "],") || summary_add_json(&diagnosis->summary, json) ||
                 buffer_append_text(json, ",\"coverage\":[") ||
                 (diagnosis->coverage.length &&
                  buffer_append(json, diagnosis->coverage.data, diagnosis->coverage.length)) ||
                 buffer_append_text(json, "],\"warnings\":[");
    for (size_t i = 0; !failed && i < table->warning_count; i++)
        failed = buffer_append_text(json, i ? ",\"" : "\"") ||
                 escape_json(json, table->warnings[i], strlen(table->warnings[i])) ||
                 buffer_append_byte(json, '"');
    failed = failed || buffer_append_text(json, "]}\n");
    if (!failed && diagnosis->summary.headlines.length)
        failed = buffer_append(text, diagnosis->summary.headlines.data, diagnosis->summary.headlines.length);
    if (!failed && diagnosis->left_out)
        failed = buffer_printf(text, "%d finding%s left out: not what was asked for\n", diagnosis->left_out,
                               diagnosis->left_out == 1 ? "" : "s");
    if (!failed && diagnosis->hidden)
        failed = say_hidden(diagnosis, text);
    for (size_t i = 0; !failed && i < table->warning_count; i++)
        failed = buffer_append_text(text, "note: ") ||
                 escape_terminal(text, table->warnings[i], strlen(table->warnings[i])) ||
                 buffer_append_byte(text, '\n');
    return failed;
}

static int run(const struct analysis_request *request, struct analysis_result *result, int *usage,
               struct error *error)
{
    struct diagnosis diagnosis = {.request = request, .result = result};
    double percent;
    if (option_real(request->values[OPTION_MIN_GAIN], "min-gain", 0, 100, &percent, error) ||
        option_real(request->values[OPTION_SIGMAS], "sigmas", 0, 1000, &diagnosis.options.sigmas, error) ||
        option_rules_off(&diagnosis.options.off, error)) {
        *usage = 1;
        return -1;
    }
    diagnosis.options.min_gain = percent / 100;
    diagnosis.show_low = request->values[OPTION_ALL] != NULL;
    diagnosis.explains = request->values[OPTION_EXPLAIN] != NULL;
    struct runs runs;
    if (table_add_columns(&result->table, columns, COLUMN_COUNT, error) ||
        job_count_pieces(request->store, &diagnosis.options.pieces, error) ||
        runs_choose(&runs, request, OPTION_RUN, error))
        return -1;
    diagnosis.names_runs = runs.count > 1;
    int failed = buffer_append_text(&result->json, "{\"command\":\"diagnose\",\"version\":2,\"findings\":[")
                     ? error_no_memory(error)
                     : caution_copies(request->store, &runs, &result->table, error) ||
                           caution_records(request->store, &runs, &result->table, error) ||
                           caution_no_operations(request->store, &runs, &result->table, error) ||
                           caution_rules_off(&result->table, error);
    for (size_t i = 0; !failed && i < runs.count; i++)
        failed = diagnose_run(&diagnosis, runs.ids[i], error);
    if (!failed && close_result(&diagnosis))
        failed = error_no_memory(error);
    buffer_release(&diagnosis.coverage);
    buffer_release(&diagnosis.largest);
    summary_release(&diagnosis.summary);
    runs_release(&runs);
    int is_asked = request->values[OPTION_EXIT_CODE] != NULL;
    result->alarm = is_asked && (diagnosis.found || diagnosis.summary.longer_steps);
    result->undecided = is_asked && summary_is_doubtful(&diagnosis.summary);
    result->unjudged = !diagnosis.operations;
    return failed;
}

const struct analysis analysis_diagnose = {
    .name = "diagnose",
    .summary = "what is wrong, whose fault it is, since when, what it costs",
    .description = "Names the rank at fault, never one that waits for it, and says nothing of a healthy job.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .run = run,
};

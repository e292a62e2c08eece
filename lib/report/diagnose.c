/*
 * The command diagnose: which rank, host or link is at fault, since which step, and what it costs. The
 * findings come from judged_run.c; this file selects them and writes rows, JSON and text.
 */
#include "diagnose/diagnose.h"
#include "base/base.h"
#include "job/job.h"
#include "model/model.h"
#include "report/internal.h"
#include "report/report.h"
#include "report/verdicts.h"

#include <stdlib.h>
#include <string.h>

/*
 * Writes the findings of diagnose: a table row and a JSON object for each, and a paragraph if it is shown.
 * Starts with the request, its result and the options; release it with told_release.
 */
struct told {
    const struct analysis_request *request;
    struct analysis_result *result;
    int show_low;
    int explains;
    int names_runs;        /* the store has several runs */
    int found;             /* of medium or high confidence, or of a stopped job */
    int shown;             /* shown in the text output */
    int hidden;            /* of low confidence, not shown */
    int small_count;       /* reported in one line, because each costs little */
    struct buffer small;   /* that line names them */
    double small_part;     /* what they cost together, as a share of their runs */
    int64_t whole_ns;      /* the duration of the current run, as far as it is known */
    int64_t small_ns;      /* of the current run: findings that cost as much, or less, belong there */
    int folds;             /* the line is written, not a paragraph for each of them */
    struct buffer largest; /* description of the most expensive hidden finding */
    int64_t largest_ns;    /* its cost */
    int64_t listed;        /* number that passed the filters */
    int left_out;          /* number that would be shown without the filters */
};

static const struct column columns[] = {
    {.name = "kind", .type = CELL_TEXT, .description = FINDING_KIND_WORDS},
    {.name = "rank", .type = CELL_INTEGER, .description = "global rank at fault"},
    {.name = "process", .type = CELL_TEXT, .description = "name of the rank"},
    {.name = "tag",
     .type = CELL_TEXT,
     .description = "phase with most of the fault; none if it is spread over phases"},
    {.name = "first_step", .type = CELL_INTEGER, .description = "first step of the fault"},
    {.name = "last_step", .type = CELL_INTEGER, .description = "last step of the fault"},
    {.name = "lost_us",
     .type = CELL_REAL,
     .unit = "us",
     .description = "cost to the job, estimated by replay"},
    {.name = "confidence", .type = CELL_TEXT, .description = "high, medium or low"},
    {.name = "text", .type = CELL_TEXT, .description = "the finding as a sentence"},
    {.name = "evidence", .type = CELL_TEXT, .description = "figures that can be checked"},
    {.name = "peers",
     .type = CELL_TEXT,
     .description = "names of the ranks at the other ends of slow links, or of the ranks that wait"},
    {.name = "run", .type = CELL_INTEGER, .description = "job"},
    {.name = "host",
     .type = CELL_TEXT,
     .description = "hosts of the ranks at fault, or of all candidates; null if unknown"},
    {.name = "gpu",
     .type = CELL_TEXT,
     .description = "their GPUs: the number on the host, or else the PCI bus ID; null if unknown"},
    {.name = "action", .type = CELL_TEXT, .description = "what to do first"},
};

enum { AT_HOST = 12, AT_GPU, AT_ACTION };

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

/* Sets a cell to the text that `append` makes; an empty text is null. */
static int set_made(const struct finding *finding, const struct job *job, size_t column,
                    int (*append)(const struct finding *, const struct job *, struct buffer *),
                    struct table *table, struct error *error)
{
    struct buffer text = BUFFER_INIT;
    int failed = append(finding, job, &text) ? error_no_memory(error) : 0;
    failed = failed || (text.length && table_set_text(table, column, text.data, error));
    buffer_release(&text);
    return failed;
}

static int set_places(const struct finding *finding, const struct job *job, struct table *table,
                      struct error *error)
{
    return set_made(finding, job, AT_HOST, finding_list_hosts, table, error) ||
           set_made(finding, job, AT_GPU, finding_list_gpus, table, error) ||
           set_made(finding, job, AT_ACTION, finding_append_action, table, error);
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
        table_set_integer(table, 4, job_run_step(job, finding->first_step));
        table_set_integer(table, 5, job_run_step(job, finding->last_step));
    }
    table_set_real(table, 6, (double)finding->lost_ns / 1e3);
    table_set_integer(table, 11, job->run_id);
    const char *tag = job_tag(job, finding->tag);
    return table_set_text(table, 0, finding_kind_name(finding->kind), error) ||
           table_set_text(table, 2, rank->name, error) || (tag && table_set_text(table, 3, tag, error)) ||
           table_set_text(table, 7, confidence_name(finding->confidence), error) ||
           table_set_text(table, 8, text, error) ||
           table_set_text(table, 9, finding->evidence.data ? finding->evidence.data : "", error) ||
           set_peers(finding, job, table, error) || set_places(finding, job, table, error);
}

/* Adds the columns of the table. */
static int told_begin(struct told *told, struct error *error)
{
    return table_add_columns(&told->result->table, columns, COLUMN_COUNT, error);
}

static void told_release(struct told *told)
{
    buffer_release(&told->largest);
    buffer_release(&told->small);
}

/* Whether the filter selects one of the ranks that the finding blames, or may blame. */
static int has_asked_rank(const struct filter *filter, const struct job *job, const struct finding *finding)
{
    int has = filter_has_rank(filter, job->ranks[finding->rank].global_rank);
    for (size_t i = 0; !has && i < finding->rank_count; i++)
        has = filter_has_rank(filter, job->ranks[finding->ranks[i]].global_rank);
    for (size_t i = 0; !has && i < finding->candidate_count; i++)
        has = filter_has_rank(filter, job->ranks[finding->candidates[i]].global_rank);
    return has;
}

static int is_in_asked_phase(const struct filter *filter, const struct job *job,
                             const struct finding *finding)
{
    int is_in = !filter->tag || filter_is_text(filter->tag, job_tag(job, finding->tag));
    for (size_t i = 0; !is_in && i < finding->phase_count; i++)
        is_in = finding_is_in_phase(finding, finding->phases[i].tag) &&
                filter_is_text(filter->tag, job_tag(job, finding->phases[i].tag));
    return is_in;
}

/* Whether the filters select the finding; --top keeps the first ones. */
static int is_asked_for(struct told *told, const struct job *job, const struct finding *finding)
{
    const struct filter *filter = told->request->filter;
    if (!filter)
        return 1;
    int fits = has_asked_rank(filter, job, finding) &&
               filter_has_steps(filter, job_run_step(job, finding->first_step),
                                job_run_step(job, finding->last_step)) &&
               is_in_asked_phase(filter, job, finding);
    return fits && (!filter->top || told->listed++ < filter->top);
}

/* Findings that each cost less than this share of the run take one line. */
static const double SMALL_PART = 0.01;

/* At most this many of them are named there. */
enum { SMALL_NAMED = 3 };

/* Whether a finding has a cost that can be compared with the duration of the run. */
static int has_cost(const struct finding *finding)
{
    return finding->confidence > CONFIDENCE_LOW && finding_is_of_steps(finding) && finding->lost_ns > 0;
}

/*
 * The greatest cost of the findings that each cost less than SMALL_PART of a run; 0 where there are none. The
 * most expensive finding is never one of them.
 */
static int64_t find_small(const struct findings *findings, int64_t whole_ns)
{
    int64_t small_ns = 0, most_ns = 0;
    for (size_t i = 0; i < findings->count; i++)
        if (has_cost(&findings->items[i]) && findings->items[i].lost_ns > most_ns)
            most_ns = findings->items[i].lost_ns;
    for (size_t i = 0; i < findings->count; i++) {
        int64_t lost_ns = findings->items[i].lost_ns;
        if (has_cost(&findings->items[i]) && lost_ns < most_ns && lost_ns > small_ns &&
            (double)lost_ns < SMALL_PART * (double)whole_ns)
            small_ns = lost_ns;
    }
    return small_ns;
}

static int is_folded(const struct told *told, const struct finding *finding)
{
    return has_cost(finding) && finding->lost_ns <= told->small_ns;
}

static int selects(const struct filter *filter)
{
    return filter && (filter->rank_count || filter->host_rank_count || filter->tag || filter->top ||
                      filter->steps.first > 0 || filter->steps.last < INT64_MAX);
}

/* Appends "host, rank 3, steps 43-59, 3.79 ms". */
static int name_small(struct told *told, const struct job *job, const struct finding *finding)
{
    struct buffer *text = &told->small;
    told->small_count++;
    told->small_part += ratio_of(finding->lost_ns, told->whole_ns);
    if (told->small_count > SMALL_NAMED)
        return 0;
    return (told->small_count > 1 && buffer_append_text(text, "; ")) ||
           (told->names_runs && buffer_printf(text, "run %lld, ", (long long)job->run_id)) ||
           buffer_printf(text, "%s, ", finding_kind_name(finding->kind)) ||
           finding_name_accused(finding, job, text) || finding_append_steps(finding, job, text) ||
           buffer_append_text(text, ", ") || text_time(text, finding->lost_ns);
}

/* Counts a finding of low confidence that is not shown, and keeps the most expensive one. */
static int hide(struct told *told, const struct job *job, const struct finding *finding)
{
    struct buffer *text = &told->largest;
    told->hidden++;
    if (finding->lost_ns <= told->largest_ns)
        return 0;
    told->largest_ns = finding->lost_ns;
    buffer_clear(text);
    return buffer_printf(text, "%s, ", finding_kind_name(finding->kind)) ||
           finding_name_accused(finding, job, text) || buffer_append_text(text, ", ") ||
           (finding->first_step >= 0 &&
            buffer_printf(text, "step %d, ", (int)job_run_step(job, finding->first_step))) ||
           text_time(text, finding->lost_ns);
}

static int show(struct told *told, const struct job *job, const struct finding *finding,
                const struct job_record *record)
{
    struct buffer *text = &told->result->text;
    return finding_add_paragraph(finding, job, record, told->names_runs, told->request->colour, text) ||
           (told->explains && rule_results_explain(&finding->rule_results, text));
}

/*
 * Finds the record in the trace that shows the finding: the log line that reports it, else the operation in
 * which it first shows.
 */
static int find_record(const struct job *job, const struct finding *finding, struct job_record *record,
                       struct error *error)
{
    if (finding->warning)
        return job_find_warning(job, finding->warning, record, error);
    return finding->operation >= 0 ? job_find_record(job, (size_t)finding->operation, record, error) : 0;
}

static int show_or_count(struct told *told, const struct job *job, const struct finding *finding,
                         int is_shown, const struct job_record *record)
{
    if (!is_shown)
        return hide(told, job, finding);
    return told->folds && is_folded(told, finding) ? name_small(told, job, finding)
                                                   : show(told, job, finding, record);
}

static int add(struct told *told, const struct job *job, const struct finding *finding, int is_shown,
               struct error *error)
{
    struct buffer sentence = BUFFER_INIT;
    struct job_record record = {.at_ns = TIME_UNKNOWN, .wall_ns = TIME_UNKNOWN};
    if (find_record(job, finding, &record, error)) {
        job_record_release(&record);
        return -1;
    }
    int failed = finding_append(finding, job, &sentence) ||
                         finding_add_json(finding, job, &record, sentence.data, is_folded(told, finding),
                                          &told->result->json) ||
                         show_or_count(told, job, finding, is_shown, &record)
                     ? error_no_memory(error)
                     : add_row(finding, job, sentence.data, &told->result->table, error);
    buffer_release(&sentence);
    job_record_release(&record);
    return failed;
}

/*
 * Sorts the findings of a run and adds those that the filters select. `whole_ns`: the duration of the run, as
 * far as it is known. With filters or --all each finding is shown in full.
 */
static int finding_output_add(struct told *told, const struct job *job, struct findings *findings,
                              int64_t whole_ns, struct error *error)
{
    findings_sort(findings);
    told->whole_ns = whole_ns;
    told->small_ns = find_small(findings, whole_ns);
    told->folds = !told->show_low && !told->explains && !selects(told->request->filter);
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        int is_shown = finding_is_reported(finding) || told->show_low;
        told->found += finding_is_reported(finding);
        if (!is_asked_for(told, job, finding)) {
            told->left_out += is_shown;
            continue;
        }
        if (add(told, job, finding, is_shown, error))
            return -1;
        told->shown += is_shown;
    }
    return 0;
}

static int append_hidden(const struct told *told, struct buffer *text)
{
    const char *plural = told->hidden == 1 ? "" : "s";
    return buffer_printf(text, "%d low-confidence finding%s not shown", told->hidden, plural) ||
           (told->largest.length && (buffer_append_text(text, told->hidden == 1 ? " (" : " (largest: ") ||
                                     escape_terminal(text, told->largest.data, told->largest.length) ||
                                     buffer_append_byte(text, ')'))) ||
           buffer_append_text(text, "; use --all\n");
}

static int append_small(const struct told *told, struct buffer *text)
{
    int more = told->small_count - SMALL_NAMED;
    return (told->small_count == 1
                ? buffer_printf(text, "1 smaller finding, %.2g %% of the run: ", 100 * told->small_part)
                : buffer_printf(text, "%d smaller findings, together %.2g %% of the run: ", told->small_count,
                                100 * told->small_part)) ||
           escape_terminal(text, told->small.data, told->small.length) ||
           (more > 0 && buffer_printf(text, "; and %d more", more)) ||
           buffer_append_text(text, "; use --all\n");
}

/* Appends how many findings are not shown, and why. Returns -1 when memory is out. */
static int finding_output_append_hidden(const struct told *told, struct buffer *text)
{
    if (told->left_out && buffer_printf(text, "%d finding%s not match the filters\n", told->left_out,
                                        told->left_out == 1 ? " does" : "s do"))
        return -1;
    if (told->small_count && append_small(told, text))
        return -1;
    return told->hidden ? append_hidden(told, text) : 0;
}

enum {
    OPTION_MIN_GAIN,
    OPTION_SIGMAS,
    OPTION_EXIT_CODE,
    OPTION_ALL,
    OPTION_EXPLAIN,
    OPTION_MEMORY,
    OPTION_RUN
};

static const struct analysis_option options[] = {
    MIN_GAIN_OPTION,
    SIGMAS_OPTION,
    {"exit-code", 0, NULL,
     "exit with 3 on a finding (medium or high confidence, or any for a hung or failed job) or on slow steps "
     "without a known cause; with 4 if 10 % or more of the job could not be analyzed or a shard is missing",
     NULL},
    {"all", 'a', NULL, "also show low-confidence findings (JSON and CSV always include them)", NULL},
    {"explain", 0, NULL,
     "list, below each finding, every check applied, its measured value and its limit (JSON always includes "
     "them)",
     NULL},
    {"memory", 0, "MIB",
     "memory limit for the operations of one run. Of a larger run only selected steps are analyzed; the "
     "others are only scanned. 0: no limit",
     MEMORY_MIB},
    RUN_OPTION,
};

struct diagnosis {
    struct told told;
    struct diagnose_options options;
    size_t operations;
    size_t empty_runs; /* runs without ranks: a log with a process and nothing else */
    int named;         /* warnings that name a rank or process with fewer calls, without a run to judge */
    int lacks_shards;
    struct summary summary;
    struct buffer coverage; /* JSON objects, as is `progress` */
    struct buffer progress;
};

/* Notes which part of a run was loaded, if it does not fit in memory. */
static int note_excerpts(struct buffer *json, const struct judged_run *run)
{
    const struct job *job = run->judgement.told;
    return job->excerpt_count &&
           (text_json_integer(json, "loaded_steps", job_loaded_steps(job) - job->first_step) ||
            (run->judgement.scope.rounds > 1 &&
             text_json_integer(json, "rounds", run->judgement.scope.rounds)) ||
            text_json_integer(json, "loaded_operations", (int64_t)run->operations) ||
            text_json_integer(json, "unusual_rows", job->screened.unusual) ||
            text_json_integer(json, "unusual_rows_not_loaded", job->screened.left_out));
}

static int note_coverage(struct diagnosis *diagnosis, const struct judged_run *run)
{
    const struct job *job = &run->job;
    struct buffer *json = &diagnosis->coverage;
    return buffer_append_text(json, json->length ? ",{" : "{") ||
           text_json_integer(json, "run", job->run_id) || text_json_string(json, "run_name", job->run_name) ||
           text_json_integer(json, "ranks", (int64_t)job_recorded_ranks(job)) ||
           text_json_integer(json, "expected_ranks", job->expected_ranks) ||
           text_json_integer(json, "steps", job_run_steps(job) - job->first_step) ||
           note_excerpts(json, run) || text_json_string(json, "step_source", job->step_source) ||
           text_json_integer(json, "operations",
                             job->excerpt_count ? job->screened.operations : (int64_t)job->operation_count) ||
           text_json_integer(json, "timed_operations", run->timed_operations) ||
           text_json_integer(json, "missing_operations", job->missing_sequence) ||
           text_json_integer(json, "left_out_operations", job->left_out) ||
           text_json_integer(json, "damaged_lines", job->damaged_lines) ||
           text_json_integer(json, "lost_events", job->lost_events) ||
           text_json_integer(json, "calls_without_operations", job->bare_calls) ||
           buffer_append_byte(json, '}');
}

/* Appends the summary of the job and its loss, then the findings, or that there are none. */
static int tell(struct diagnosis *diagnosis, struct judged_run *run, struct error *error)
{
    const struct judgement *judgement = &run->judgement;
    struct told *told = &diagnosis->told;
    struct buffer *text = &told->result->text;
    int before = told->shown + told->left_out;
    int failed =
        summary_add_run(&diagnosis->summary, judgement) ||
                headline_append_job(judgement, told->names_runs, text)
            ? error_no_memory(error)
            : finding_output_add(told, judgement->told, &run->findings, judgement->longer.whole_ns, error);
    int is_told = told->shown + told->left_out > before;
    int is_empty = told->names_runs && !judgement->job->rank_count;
    diagnosis->empty_runs += is_empty;
    if (is_empty)
        return failed;
    if (!failed && ((!is_told && headline_append_verdict(judgement, told->names_runs, text)) ||
                    progress_append_text(judgement, &run->findings, told->names_runs, text) ||
                    progress_append_json(judgement, &run->findings, &diagnosis->progress)))
        failed = error_no_memory(error);
    return failed ||
           caution_run(judgement, &run->findings, run->transfers, is_told, &told->result->table, error) ||
           caution_node_records(&run->job, &run->findings, &told->result->table, error);
}

static int tell_all(struct diagnosis *diagnosis, struct judged_run *run, struct error *error)
{
    int failed = tell(diagnosis, run, error);
    if (!failed && note_coverage(diagnosis, run))
        failed = error_no_memory(error);
    diagnosis->operations += run->operations;
    return failed;
}

static int diagnose_run(struct diagnosis *diagnosis, int64_t run_id, struct error *error)
{
    const struct analysis_request *request = diagnosis->told.request;
    struct judged_run own, *shared;
    if (shared_run_load(request->shared, request->store, run_id, &diagnosis->options, &shared, error))
        return -1;
    if (shared)
        return tell_all(diagnosis, shared, error);
    if (judged_run_init(&own, request->store, run_id, &diagnosis->options, error))
        return -1;
    int failed = tell_all(diagnosis, &own, error);
    judged_run_release(&own);
    return failed;
}

/* Appends "coverage", "warnings" and the end of the JSON; to the text, what is not shown, and the notes. */
static int close_result(struct diagnosis *diagnosis)
{
    struct analysis_result *result = diagnosis->told.result;
    struct buffer *json = &result->json, *text = &result->text;
    const struct table *table = &result->table;
    int failed = buffer_append_text(json, "],") || summary_add_json(&diagnosis->summary, json) ||
                 buffer_append_text(json, ",\"coverage\":[") ||
                 (diagnosis->coverage.length &&
                  buffer_append(json, diagnosis->coverage.data, diagnosis->coverage.length)) ||
                 buffer_append_text(json, "],\"progress\":[") ||
                 (diagnosis->progress.length &&
                  buffer_append(json, diagnosis->progress.data, diagnosis->progress.length)) ||
                 buffer_append_text(json, "],\"warnings\":[");
    for (size_t i = 0; !failed && i < table->warning_count; i++)
        failed = (i && buffer_append_byte(json, ',')) || text_json_quote(json, table->warnings[i]);
    return failed || buffer_append_text(json, "]}\n") ||
           finding_output_append_hidden(&diagnosis->told, text) || warnings_append(table, text);
}

static int read_options(struct diagnosis *diagnosis, struct error *error)
{
    const char *const *values = diagnosis->told.request->values;
    if (option_thresholds(values[OPTION_MIN_GAIN], values[OPTION_SIGMAS], &diagnosis->options, error) ||
        option_memory(values[OPTION_MEMORY], &diagnosis->options.memory_bytes, error) ||
        option_rules_off(&diagnosis->options.off, error))
        return -1;
    diagnosis->told.show_low = values[OPTION_ALL] != NULL;
    diagnosis->told.explains = values[OPTION_EXPLAIN] != NULL;
    return 0;
}

static int diagnose_runs(struct diagnosis *diagnosis, const struct runs *runs, struct error *error)
{
    struct analysis_result *result = diagnosis->told.result;
    struct store *store = diagnosis->told.request->store;
    int failed = buffer_append_text(&result->json, "{\"command\":\"diagnose\",\"version\":2,\"findings\":[")
                     ? error_no_memory(error)
                     : caution_unidentified_processes(store, &diagnosis->named, &result->table, error) ||
                           (!runs->count &&
                            caution_described_calls(store, &diagnosis->named, &result->table, error)) ||
                           caution_recorders(store, runs, &result->table, error) ||
                           caution_copies(store, runs, &result->table, error) ||
                           caution_records(store, runs, &result->table, error) ||
                           caution_no_operations(store, runs, &result->table, error) ||
                           caution_rules_off(&result->table, error);
    for (size_t i = 0; !failed && i < runs->count; i++)
        failed = diagnose_run(diagnosis, runs->ids[i], error);
    if (!failed && diagnosis->empty_runs)
        failed =
            table_add_warning(&result->table, error,
                              "%zu runs contain no ranks and no operations; nothing was analyzed in them",
                              diagnosis->empty_runs);
    return !failed && close_result(diagnosis) ? error_no_memory(error) : failed;
}

static int run(const struct analysis_request *request, struct analysis_result *result, int *usage,
               struct error *error)
{
    struct diagnosis diagnosis = {.told = {.request = request, .result = result}};
    struct runs runs;
    if (read_options(&diagnosis, error)) {
        *usage = 1;
        return -1;
    }
    if (told_begin(&diagnosis.told, error) ||
        shards_are_lacking(request->store, &diagnosis.lacks_shards, error) ||
        job_count_pieces(request->store, &diagnosis.options.pieces, error) ||
        runs_choose(&runs, request, OPTION_RUN, &result->table, error))
        return -1;
    diagnosis.told.names_runs = runs.count > 1;
    int failed = diagnose_runs(&diagnosis, &runs, error);
    buffer_release(&diagnosis.coverage);
    buffer_release(&diagnosis.progress);
    told_release(&diagnosis.told);
    summary_release(&diagnosis.summary);
    runs_release(&runs);
    int is_asked = request->values[OPTION_EXIT_CODE] != NULL;
    result->alarm = is_asked && (diagnosis.told.found || diagnosis.summary.longer_steps);
    result->undecided = is_asked && (diagnosis.lacks_shards || summary_is_doubtful(&diagnosis.summary));
    result->unjudged = !diagnosis.operations && !diagnosis.told.shown && !diagnosis.named;
    return failed;
}

/* The text has the findings that the filters select, and their colours. */
static int reads_filters(const struct analysis_request *request)
{
    return 1;
}

const struct analysis analysis_diagnose = {
    .name = "diagnose",
    .summary = "name the rank at fault, the cause, the steps and the cost",
    .description =
        "Names the rank at fault, not the ranks that wait for it. Reports no finding on a healthy job. "
        "Filters such as --rank and --step change what is shown, not what is analyzed.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .unlisted_filters = FILTER_BIT(FILTER_COMMUNICATOR),
    .loads_run = 1,
    .is_kept = 1,
    .reads_filters = reads_filters,
    .run = run,
};

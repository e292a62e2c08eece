#include "analyse/analyses.h"
#include "analyse/diagnose_notes.h"
#include "analyse/filter.h"
#include "analyse/headline.h"
#include "analyse/judged_run.h"
#include "analyse/log_notes.h"
#include "analyse/option.h"
#include "analyse/records.h"
#include "analyse/run_choice.h"
#include "analyse/shard_notes.h"
#include "analyse/told.h"
#include "analyse/warning.h"
#include "analyse/witness_notes.h"
#include "base/json_text.h"
#include "job/excerpts.h"
#include "job/load_names.h"

#include <string.h>

/* What is wrong with the jobs of a store, whose fault it is, since when, and what it costs. */

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
    size_t empty_runs; /* without a rank: a log tells of a process and no more */
    int lacks_shards;
    struct summary summary;
    struct buffer coverage; /* JSON objects */
};

/* What of a run was loaded that memory does not hold. */
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

/* The job and its loss, then the findings, or that there are none. */
static int tell(struct diagnosis *diagnosis, struct judged_run *run, struct error *error)
{
    const struct judgement *judgement = &run->judgement;
    struct told *told = &diagnosis->told;
    struct buffer *text = &told->result->text;
    int before = told->shown + told->left_out;
    int failed =
        summary_add_run(&diagnosis->summary, judgement) || headline_say_job(judgement, told->names_runs, text)
            ? error_no_memory(error)
            : told_add(told, judgement->told, &run->findings, error);
    int is_told = told->shown + told->left_out > before;
    int is_empty = told->names_runs && !judgement->job->rank_count;
    diagnosis->empty_runs += is_empty;
    if (is_empty)
        return failed;
    if (!failed && !is_told && headline_say_verdict(judgement, told->names_runs, text))
        failed = error_no_memory(error);
    return failed ||
           caution_run(judgement, &run->findings, run->transfers, is_told, &told->result->table, error);
}

static int diagnose_run(struct diagnosis *diagnosis, int64_t run_id, struct error *error)
{
    struct judged_run run;
    if (judged_run_init(&run, diagnosis->told.request->store, run_id, &diagnosis->options, error))
        return -1;
    int failed = tell(diagnosis, &run, error);
    if (!failed && note_coverage(diagnosis, &run))
        failed = error_no_memory(error);
    diagnosis->operations += run.operations;
    judged_run_release(&run);
    return failed;
}

/* "coverage", "warnings" and the end of the JSON; what is not shown, and notes. */
static int close_result(struct diagnosis *diagnosis)
{
    struct analysis_result *result = diagnosis->told.result;
    struct buffer *json = &result->json, *text = &result->text;
    const struct table *table = &result->table;
    int failed = buffer_append_text(json, "],") || summary_add_json(&diagnosis->summary, json) ||
                 buffer_append_text(json, ",\"coverage\":[") ||
                 (diagnosis->coverage.length &&
                  buffer_append(json, diagnosis->coverage.data, diagnosis->coverage.length)) ||
                 buffer_append_text(json, "],\"warnings\":[");
    for (size_t i = 0; !failed && i < table->warning_count; i++)
        failed = (i && buffer_append_byte(json, ',')) || text_json_quote(json, table->warnings[i]);
    return failed || buffer_append_text(json, "]}\n") || told_say_rest(&diagnosis->told, text) ||
           warnings_say(table, text);
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
                     : caution_rankless(store, &result->table, error) ||
                           caution_witnesses(store, runs, &result->table, error) ||
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
        runs_choose(&runs, request, OPTION_RUN, error))
        return -1;
    diagnosis.told.names_runs = runs.count > 1;
    int failed = diagnose_runs(&diagnosis, &runs, error);
    buffer_release(&diagnosis.coverage);
    told_release(&diagnosis.told);
    summary_release(&diagnosis.summary);
    runs_release(&runs);
    int is_asked = request->values[OPTION_EXIT_CODE] != NULL;
    result->alarm = is_asked && (diagnosis.told.found || diagnosis.summary.longer_steps);
    result->undecided = is_asked && (diagnosis.lacks_shards || summary_is_doubtful(&diagnosis.summary));
    result->unjudged = !diagnosis.operations && !diagnosis.told.shown;
    return failed;
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
    .run = run,
};

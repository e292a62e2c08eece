/*
 * The command timeline: writes a run as a trace for Perfetto or Chrome, with all ranks on one clock.
 * timeline_draw.c and the files beside it draw it.
 */
#include "report/timeline.h"
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "output/output.h"
#include "report/internal.h"
#include "report/report.h"
#include "report/steps.h"
#include "report/verdicts.h"

#include <stdlib.h>
#include <string.h>

enum { OPTION_OUTPUT, OPTION_PROXY, OPTION_RUN, OPTION_MEMORY };

static const struct analysis_option options[] = {
    {"output", 'o', "FILE",
     "write the trace to FILE, as Chrome JSON if its name ends in .json, with gzip if in .gz; - for standard "
     "output",
     NULL},
    {"proxy", 0, NULL,
     "also draw the work of the network (proxy) threads, with the waits of each network step", NULL},
    RUN_OPTION,
    MEMORY_OPTION,
};

static const struct column columns[] = {
    {.name = "file", .type = CELL_TEXT, .description = "file that was written"},
    {.name = "ranks", .type = CELL_INTEGER, .description = "ranks in the trace"},
    {.name = "operations", .type = CELL_INTEGER, .description = "records of single ranks in the trace"},
    {.name = "slices", .type = CELL_INTEGER, .description = "slices of all kinds"},
    {.name = "arrows",
     .type = CELL_INTEGER,
     .description = "arrows from the rank that arrived last to the ranks that waited for it"},
    {.name = "findings", .type = CELL_INTEGER, .description = "findings of diagnose in the trace"},
    {.name = "uncertainty_us",
     .type = CELL_REAL,
     .unit = "us",
     .decimals = 1,
     .description = "error bound of the clock alignment"},
    {.name = "bytes",
     .type = CELL_INTEGER,
     .unit = "bytes",
     .description = "size of the trace, uncompressed"},
    JOB_COLUMN,
};

enum {
    AT_FILE,
    AT_RANKS,
    AT_OPERATIONS,
    AT_SLICES,
    AT_ARROWS,
    AT_FINDINGS,
    AT_UNCERTAINTY,
    AT_BYTES,
    AT_RUN,
    COLUMN_COUNT
};

/* A wait of at least one hundredth of a baseline step gets an arrow. */
enum { ARROWS_OF_STEP = 100 };

/* The caller frees the ranks in `selection`. */
static int select_parts(const struct analysis_request *request, const struct judged_run *drawn,
                        struct timeline_selection *selection)
{
    const struct filter *filter = request->filter;
    const struct job *job = &drawn->job;
    char *ranks = array_new(job->rank_count, 1);
    int64_t usual_ns;
    if (!ranks || step_usual_ns(&drawn->baseline, &usual_ns)) {
        free(ranks);
        return -1;
    }
    for (size_t i = 0; i < job->rank_count; i++)
        ranks[i] = (char)(!filter || filter_has_rank(filter, job->ranks[i].global_rank));
    *selection =
        (struct timeline_selection){.ranks = ranks,
                                    .last_step = INT64_MAX,
                                    .arrow_ns = usual_ns != TIME_UNKNOWN ? usual_ns / ARROWS_OF_STEP : 0,
                                    .with_proxies = request->values[OPTION_PROXY] != NULL};
    if (filter) {
        selection->first_step = filter->steps.first;
        selection->last_step = filter->steps.last;
        selection->has_steps = filter->steps.first > 0 || filter->steps.last < INT64_MAX;
        selection->tag = filter->tag;
        selection->communicator = filter->communicator;
    }
    return 0;
}

static int add_row(const struct job *job, const char *path, const struct timeline_counts *counts,
                   uint64_t bytes, struct table *table, struct error *error)
{
    if (table_add_row(table, error))
        return -1;
    table_set_integer(table, AT_RANKS, counts->ranks);
    table_set_integer(table, AT_OPERATIONS, counts->operations - counts->untimed);
    table_set_integer(table, AT_SLICES, counts->slices);
    table_set_integer(table, AT_ARROWS, counts->arrows);
    table_set_integer(table, AT_FINDINGS, counts->findings);
    if (counts->most_uncertain >= 0)
        table_set_real(table, AT_UNCERTAINTY, (double)counts->uncertainty_ns / 1e3);
    table_set_integer(table, AT_BYTES, (int64_t)bytes);
    table_set_integer(table, AT_RUN, job->run_id);
    return table_set_text(table, AT_FILE, path, error);
}

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

static int say(const struct job *job, const char *path, const struct timeline_counts *counts,
               struct buffer *text)
{
    int64_t operations = counts->operations - counts->untimed;
    int failed = escape_terminal(text, path, strlen(path)) ||
                 buffer_printf(text, ": %lld rank%s, %lld operation%s, %lld finding%s\n",
                               (long long)counts->ranks, plural(counts->ranks), (long long)operations,
                               plural(operations), (long long)counts->findings, plural(counts->findings));
    if (failed || counts->most_uncertain < 0 || counts->uncertainty_ns == 0)
        return failed;
    const char *name = job->ranks[counts->most_uncertain].name;
    return buffer_append_text(text, "clocks are aligned to within ") ||
           text_time(text, counts->uncertainty_ns) || buffer_append_text(text, " (rank ") ||
           escape_terminal(text, name, strlen(name)) || buffer_append_text(text, ")\n");
}

static int caution(const struct job *job, const struct timeline_counts *counts, struct table *table,
                   struct error *error)
{
    long long run = (long long)job->run_id;
    if (counts->unaligned &&
        table_add_warning(
            table, error,
            "run %lld: %lld rank%s no clock that is aligned with the others; %s drawn %s and without arrows",
            run, (long long)counts->unaligned, counts->unaligned == 1 ? " has" : "s have",
            counts->unaligned == 1 ? "it is" : "they are",
            counts->unplaced_ranks ? "from time 0" : "by wall-clock time"))
        return -1;
    if (counts->untimed &&
        table_add_warning(table, error, "run %lld: no timestamps in %lld of %lld operations", run,
                          (long long)counts->untimed, (long long)counts->operations))
        return -1;
    if (counts->crowded &&
        table_add_warning(table, error, "run %lld: %lld slice%s not drawn because %s too many others", run,
                          (long long)counts->crowded, counts->crowded == 1 ? " is" : "s are",
                          counts->crowded == 1 ? "it overlaps" : "they overlap"))
        return -1;
    return caution_loaded_steps(
               job,
               "the trace has the first steps, those of a finding or of --step, and those around "
               "them:",
               table, error) ||
                   caution_absent_ranks(job, table, error) || caution_inseparable_ranks(job, table, error)
               ? -1
               : 0;
}

static int refuse_empty(const struct job *job, const struct timeline_counts *counts, struct error *error)
{
    if (!counts->operations)
        return error_set(error, "run %lld: no operation matches the filters", (long long)job->run_id);
    return error_set(error, "run %lld: none of the %lld operations has timestamps", (long long)job->run_id,
                     (long long)counts->operations);
}

static enum output_kind kind_of(const char *path)
{
    size_t length = strlen(path);
    return length > 3 && strcmp(path + length - 3, ".gz") == 0 ? OUTPUT_GZIP : OUTPUT_PLAIN;
}

static int write_file(struct judged_run *drawn, const struct timeline_selection *selection, const char *path,
                      struct timeline_counts *counts, uint64_t *bytes, struct error *error)
{
    struct output *output = output_open(path, kind_of(path), error);
    if (!output)
        return -1;
    const struct timeline_findings findings = {judged_run_shown(drawn, error), &drawn->findings,
                                               drawn->judgement.told};
    int failed = !findings.drawn || timeline_write(&drawn->job, &findings, selection, trace_format_of(path),
                                                   output, counts, error);
    if (!failed && counts->operations == counts->untimed)
        failed = refuse_empty(&drawn->job, counts, error);
    *bytes = output_bytes(output);
    if (!failed)
        return output_close(output, error);
    output_discard(output);
    return -1;
}

static int write_run(struct judged_run *drawn, const struct analysis_request *request,
                     struct analysis_result *result, struct error *error)
{
    const char *path = request->values[OPTION_OUTPUT];
    struct timeline_selection selection;
    struct timeline_counts counts;
    uint64_t bytes;
    if (select_parts(request, drawn, &selection))
        return error_no_memory(error);
    int failed = write_file(drawn, &selection, path, &counts, &bytes, error) ||
                 add_row(&drawn->job, path, &counts, bytes, &result->table, error) ||
                 caution(&drawn->job, &counts, &result->table, error);
    if (!failed &&
        (say(&drawn->job, path, &counts, &result->text) || warnings_append(&result->table, &result->text)))
        failed = error_no_memory(error);
    result->wrote_output = strcmp(path, "-") == 0;
    free((char *)(uintptr_t)selection.ranks);
    return failed;
}

static int draw_run(int64_t run_id, const struct analysis_request *request, struct analysis_result *result,
                    struct error *error)
{
    struct diagnose_options usual;
    struct judged_run drawn;
    if (diagnose_options_usual(&usual, request->store, request->values[OPTION_MEMORY], error) ||
        judged_run_init(&drawn, request->store, run_id, &usual, error))
        return -1;
    findings_sort(&drawn.findings);
    int failed = judged_run_show_window(&drawn, request->filter, &usual, error) ||
                 write_run(&drawn, request, result, error);
    judged_run_release(&drawn);
    return failed;
}

static int run(const struct analysis_request *request, struct analysis_result *result, int *usage,
               struct error *error)
{
    struct runs runs;
    int64_t memory_bytes;
    *usage = !request->values[OPTION_OUTPUT]
                 ? error_set(error, "missing option --output")
                 : option_memory(request->values[OPTION_MEMORY], &memory_bytes, error);
    if (*usage)
        return -1;
    if (table_add_columns(&result->table, columns, COLUMN_COUNT, error) ||
        runs_choose(&runs, request, OPTION_RUN, &result->table, error))
        return -1;
    int failed = 0;
    if (runs.count != 1)
        failed =
            runs.count
                ? error_set(
                      error,
                      "the store contains %zu runs; choose one with --run (ncclprof info --runs lists them)",
                      runs.count)
                : error_set(error, "the store contains no operations, so there is nothing to draw");
    failed = failed || caution_clock_steps(request->store, &runs, &result->table, error) ||
             draw_run(runs.ids[0], request, result, error);
    runs_release(&runs);
    return failed ? -1 : 0;
}

const struct analysis analysis_timeline = {
    .name = "timeline",
    .summary = "write a trace for Perfetto of all ranks on one clock",
    .description =
        "Writes one run as a trace for ui.perfetto.dev: one process per rank with its steps, phases, "
        "operations and calls, the wait time in each operation, arrows from the rank that arrived last to "
        "the ranks that waited, and the findings of diagnose.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .unlisted_filters = FILTER_BIT(FILTER_SORT) | FILTER_BIT(FILTER_TOP),
    .filters_itself = 1,
    .run = run,
};

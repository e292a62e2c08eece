/*
 * The command html: one self-contained HTML document with all that is known about the jobs of a store.
 * html_verdict.c and the other files html_*.c write its sections.
 */
#include "report/html.h"
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "model/model.h"
#include "output/output.h"
#include "report/internal.h"
#include "report/report.h"
#include "report/verdicts.h"

#include <stdlib.h>
#include <string.h>

enum { OPTION_OUTPUT, OPTION_RUN, OPTION_MEMORY };

static const struct analysis_option options[] = {
    {"output", 'o', "FILE", "output file; - for standard output", NULL},
    RUN_OPTION,
    MEMORY_OPTION,
    ANONYMIZE_OPTION,
};

static const struct column columns[] = {
    {.name = "file", .type = CELL_TEXT, .description = "file that was written"},
    {.name = "bytes", .type = CELL_INTEGER, .unit = "bytes", .description = "size of the file"},
    {.name = "runs", .type = CELL_INTEGER, .description = "number of jobs"},
    {.name = "findings",
     .type = CELL_INTEGER,
     .description =
         "number of findings: those of medium or high confidence, and those of a job that stopped"},
};

enum { AT_FILE, AT_SIZE, AT_RUNS, AT_FINDINGS, COLUMN_COUNT };

/* The state of the report while it is written. */
struct report {
    const struct analysis_request *request;
    struct diagnose_options diagnose;
    struct html_page page;
    size_t runs;
    size_t done;
    size_t findings;
    size_t operations;
    int judged;         /* something was analyzed in some run */
    int undetermined;   /* a run hangs, and its trace does not determine the culprit */
    struct buffer name; /* name of the last run */
};

static int add_sections(const struct html_run *run, struct error *error)
{
    if (html_add_verdict(run, error) || html_add_findings(run, error))
        return -1;
    if (html_add_steps(run) || html_add_timeline(run))
        return error_no_memory(error);
    return html_add_bandwidth(run, error) || html_add_links(run, error) || html_add_clocks(run, error) ||
                   html_add_coverage(run, error)
               ? -1
               : 0;
}

/*
 * Loads the steps to draw. The first round of a run that stopped has its last steps, which show the hang, and
 * on which the texts about it rely.
 */
static int choose_drawn(struct report *report, struct html_run *run, struct judged_run *judged,
                        struct error *error)
{
    if (judged->judgement.stopped_step < 0 && !judged->judgement.unexplained_hang.is_known &&
        judged_run_show_window(judged, run->filter, &report->diagnose, error))
        return -1;
    run->told_job = judged->judgement.told;
    run->findings = judged_run_shown(judged, error);
    return !run->findings || caution_loaded_steps(run->job, "pictures and tables of single steps have",
                                                  run->notes, error)
               ? -1
               : 0;
}

/* Notes of a run are shown with its coverage only. */
static int add_judged(struct report *report, struct html_run *run, struct judged_run *judged,
                      struct error *error)
{
    int failed = buffer_printf(run->data, "%s{\"id\":%lld", report->done ? "," : "", (long long)run->number)
                     ? error_no_memory(error)
                     : caution_run(run->judgement, &judged->findings, judged->transfers,
                                   html_run_finding_count(run) > 0, run->notes, error);
    failed = failed || choose_drawn(report, run, judged, error) || add_sections(run, error);
    if (!failed && buffer_append_byte(run->data, '}'))
        failed = error_no_memory(error);
    report->findings += failed ? 0 : html_run_finding_count(run);
    report->judged |= run->judgement->scope.blindness == BLIND_NOT;
    report->undetermined |= run->judgement->unexplained_hang.is_known;
    return failed ? -1 : 0;
}

static int add_run(struct report *report, int64_t run_id, struct error *error)
{
    struct judged_run judged;
    struct table notes;
    if (judged_run_init(&judged, report->request->store, run_id, &report->diagnose, error))
        return -1;
    findings_sort(&judged.findings);
    table_init(&notes, "html");
    notes.is_of_one_run = report->runs == 1;
    struct html_run run = {.store = report->request->store,
                           .filter = report->request->filter,
                           .job = &judged.job,
                           .baseline = &judged.baseline,
                           .findings = &judged.findings,
                           .told_job = judged.judgement.told,
                           .told = &judged.findings,
                           .judgement = &judged.judgement,
                           .notes = &notes,
                           .number = judged.job.run_id,
                           .names_run = report->runs > 1,
                           .list = report->runs > 1 ? &report->page.overview : NULL,
                           .runs = report->runs,
                           .whole = &report->page,
                           .page = &report->page.body,
                           .data = &report->page.data};
    buffer_clear(&report->name);
    int failed = buffer_append_text(&report->name, judged.job.run_name)
                     ? error_no_memory(error)
                     : add_judged(report, &run, &judged, error);
    report->done++;
    report->operations += judged.job.operation_count;
    table_release(&notes);
    judged_run_release(&judged);
    return failed ? -1 : 0;
}

/* Notes about the store as a whole become warnings of the result and are shown in the report. */
static int add_notes(struct report *report, const struct table *notes)
{
    struct html_page *page = &report->page;
    if (!notes->warning_count)
        return 0;
    if (html_section_begin(page, "notes", "Notes on the traces", "Notes on the traces") ||
        buffer_append_text(&page->body, "<ul>\n"))
        return -1;
    for (size_t i = 0; i < notes->warning_count; i++)
        if (html_element(&page->body, "li", notes->warnings[i]))
            return -1;
    return buffer_append_text(&page->body, "</ul>\n") || html_section_end(page) ? -1 : 0;
}

static int add_runs(struct report *report, const struct runs *runs, struct table *notes, struct error *error)
{
    struct store *store = report->request->store;
    int failed = caution_recorders(store, runs, notes, error) || caution_copies(store, runs, notes, error) ||
                 caution_records(store, runs, notes, error) ||
                 caution_no_operations(store, runs, notes, error) || caution_rules_off(notes, error);
    for (size_t i = 0; !failed && i < runs->count; i++)
        failed = add_run(report, runs->ids[i], error);
    if (!failed && report->page.overview.length && buffer_append_text(&report->page.overview, "</section>\n"))
        failed = error_no_memory(error);
    if (!failed && add_notes(report, notes))
        failed = error_no_memory(error);
    return failed || html_add_ledger(store, &report->page, error) ? -1 : 0;
}

/* "traces-b: 1 finding", "2 runs: nothing stands out". */
static int append_title(const struct report *report, struct buffer *title)
{
    int failed = report->runs == 1 ? buffer_append(title, report->name.data, report->name.length)
                                   : buffer_printf(title, "%zu runs", report->runs);
    return failed || (report->findings ? buffer_printf(title, ": %zu finding%s", report->findings,
                                                       report->findings == 1 ? "" : "s")
                      : report->undetermined
                          ? buffer_append_text(title, ": the rank at fault cannot be determined")
                      : report->judged ? buffer_append_text(title, ": no problem found")
                                       : buffer_append_text(title, ": not enough data"))
               ? -1
               : 0;
}

static int write_page(const struct report *report, struct output *output, struct error *error)
{
    struct buffer title = BUFFER_INIT;
    int failed = append_title(report, &title) ? error_no_memory(error)
                                              : html_page_write(&report->page, title.data, output, error);
    buffer_release(&title);
    return failed;
}

/* Opens the output first, so that a file that cannot be written is reported before the analysis. */
static int make_page(struct report *report, const char *path, const struct runs *runs, struct table *notes,
                     uint64_t *bytes, struct error *error)
{
    struct output *output = output_open(path, OUTPUT_PLAIN, error);
    if (!output)
        return -1;
    if (add_runs(report, runs, notes, error) || write_page(report, output, error)) {
        output_discard(output);
        return -1;
    }
    *bytes = output_bytes(output);
    return output_close(output, error);
}

static int add_row(const struct report *report, const char *path, uint64_t bytes,
                   struct analysis_result *result, struct error *error)
{
    struct table *table = &result->table;
    if (table_add_row(table, error) || table_set_text(table, AT_FILE, path, error))
        return -1;
    table_set_integer(table, AT_SIZE, (int64_t)bytes);
    table_set_integer(table, AT_RUNS, (int64_t)report->runs);
    table_set_integer(table, AT_FINDINGS, (int64_t)report->findings);
    return escape_terminal(&result->text, path, strlen(path)) ||
                   buffer_printf(&result->text, ": %.1f KiB, %zu run%s, %zu finding%s\n",
                                 (double)bytes / 1024, report->runs, report->runs == 1 ? "" : "s",
                                 report->findings, report->findings == 1 ? "" : "s")
               ? error_no_memory(error)
               : 0;
}

static int make_report(struct report *report, const char *path, const struct runs *runs,
                       struct analysis_result *result, struct error *error)
{
    uint64_t bytes;
    if (table_add_columns(&result->table, columns, COLUMN_COUNT, error) ||
        diagnose_options_usual(&report->diagnose, report->request->store,
                               report->request->values[OPTION_MEMORY], error) ||
        make_page(report, path, runs, &result->table, &bytes, error))
        return -1;
    result->wrote_output = strcmp(path, "-") == 0;
    result->unjudged = !report->operations && !report->findings;
    return add_row(report, path, bytes, result, error);
}

/* Rejects filters that do not apply to the drawings. */
static int check(const struct analysis_request *request, struct error *error)
{
    const struct filter *filter = request->filter;
    int64_t memory_bytes;
    if (!request->values[OPTION_OUTPUT])
        return error_set(error, "missing option --output");
    if (option_memory(request->values[OPTION_MEMORY], &memory_bytes, error))
        return -1;
    return filter && (filter->tag || filter->communicator || filter->sort || filter->top)
               ? error_set(error,
                           "--tag, --communicator, --sort and --top do not apply to html; --rank, --host and "
                           "--step choose what its timeline shows")
               : 0;
}

static int run(const struct analysis_request *request, struct analysis_result *result, int *usage,
               struct error *error)
{
    struct report report = {.request = request};
    struct runs runs;
    if (check(request, error)) {
        *usage = 1;
        return -1;
    }
    if (runs_choose(&runs, request, OPTION_RUN, &result->table, error))
        return -1;
    report.runs = runs.count;
    int failed = make_report(&report, request->values[OPTION_OUTPUT], &runs, result, error);
    html_page_release(&report.page);
    buffer_release(&report.name);
    runs_release(&runs);
    return failed;
}

const struct analysis analysis_html = {
    .name = "html",
    .summary = "write one self-contained HTML report",
    .description =
        "Writes one HTML file without external resources: findings with their evidence plotted, a "
        "rank-by-step heat map, timelines of selected steps, bandwidth, network links, clock offsets and "
        "coverage.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .unlisted_filters = FILTER_BIT(FILTER_TAG) | FILTER_BIT(FILTER_COMMUNICATOR) | FILTER_BIT(FILTER_SORT) |
                        FILTER_BIT(FILTER_TOP),
    .filters_itself = 1,
    .run = run,
};

/* Sections of the HTML report that are tables: bandwidth, clocks, coverage, skipped input. */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "output/output.h"
#include "report/html.h"
#include "report/internal.h"
#include "report/report.h"
#include "report/verdicts.h"
#include "store/store.h"

#include "schemas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int html_run_append_name(const struct html_run *run, struct buffer *text)
{
    return (run->side ? buffer_append_text(text, run->side)
                      : buffer_printf(text, "Run %lld", (long long)run->job->run_id)) ||
                   buffer_printf(text, " (%s): ", run->job->run_name)
               ? -1
               : 0;
}

int html_run_section(const struct html_run *run, const char *key, const char *heading)
{
    struct buffer id = BUFFER_INIT, text = BUFFER_INIT;
    int failed = buffer_printf(&id, "run-%lld-%s", (long long)run->number, key) ||
                 (run->names_run && html_run_append_name(run, &text)) || buffer_append_text(&text, heading) ||
                 html_section_begin(run->whole, id.data, text.data, run->names_run ? NULL : heading);
    buffer_release(&id);
    buffer_release(&text);
    return failed ? -1 : 0;
}

int html_add_table_of(const struct store *store, int64_t run_id, struct buffer *page,
                      const struct table *table, const struct html_table *how)
{
    struct buffer command = BUFFER_INIT;
    struct html_table whole = *how;
    int failed = store_append_command(store, how->rest_command, run_id, &command);
    whole.rest_command = command.data;
    failed = failed || html_add_table(page, table, &whole);
    buffer_release(&command);
    return failed ? -1 : 0;
}

const struct finding *html_run_told(const struct html_run *run, const struct finding *finding)
{
    return &run->told->items[finding - run->findings->items];
}

int32_t html_run_first_step(const struct html_run *run)
{
    return job_first_shown(run->job);
}

int32_t html_run_step(const struct html_run *run, int32_t step)
{
    return job_run_step(run->job, step);
}

size_t html_run_finding_count(const struct html_run *run)
{
    size_t told = 0;
    for (size_t i = 0; i < run->findings->count; i++)
        told += finding_is_reported(&run->findings->items[i]) != 0;
    return told;
}

enum { MOST_PHASES = 60, MOST_CLOCKS = 1024, MOST_REASONS = 40, MOST_OPTIONS = 16 };

/* Runs report with the defaults of its options, except for two. */
static int ask_report(const struct html_run *run, struct analysis_result *result, struct error *error)
{
    const char *values[MOST_OPTIONS] = {NULL};
    char number[32];
    int usage = 0;
    snprintf(number, sizeof number, "%lld", (long long)run->job->run_id);
    for (size_t i = 0; i < analysis_report.option_count && i < MOST_OPTIONS; i++) {
        const struct analysis_option *option = &analysis_report.options[i];
        values[i] = strcmp(option->name, "by-tag") == 0 ? "1"
                    : strcmp(option->name, "run") == 0  ? number
                                                        : option->fallback;
    }
    struct analysis_request request = {.store = run->store, .values = values};
    return analysis_report.run(&request, result, &usage, error);
}

static int put_bandwidth(const struct html_run *run, const struct table *table)
{
    static const struct html_table how = {
        .caption = "Operations by phase (tag) and function; medians; bus bandwidth as defined by nccl-tests",
        .bars = "transfer_busbw_gbs_p50",
        .most_rows = MOST_PHASES,
        .rest_command = "report --by-tag"};
    if (!table->row_count)
        return 0;
    return html_run_section(run, "bandwidth", "Bandwidth by phase") ||
                   html_add_table_of(run->job->store, run->job->run_id, run->page, table, &how) ||
                   html_section_end(run->whole)
               ? -1
               : 0;
}

int html_add_bandwidth(const struct html_run *run, struct error *error)
{
    struct analysis_result result = {.text = BUFFER_INIT, .json = BUFFER_INIT};
    table_init(&result.table, analysis_report.name);
    int failed = ask_report(run, &result, error);
    if (!failed && put_bandwidth(run, &result.table))
        failed = error_no_memory(error);
    table_release(&result.table);
    buffer_release(&result.text);
    buffer_release(&result.json);
    return failed;
}

/* "All of 8 ranks are aligned, the least sure within 3.40 us". */
static int append_clocks(const struct job *job, struct buffer *text)
{
    size_t ranks = 0, aligned = 0;
    int64_t worst_ns = 0;
    for (size_t i = 0; i < job->rank_count; i++) {
        const struct job_rank *rank = &job->ranks[i];
        int is_aligned = rank->clock_method != CLOCK_NONE && rank->clock_method != CLOCK_CONTRADICTORY;
        ranks += rank->count > 0;
        aligned += rank->count > 0 && is_aligned;
        if (rank->count && is_aligned && rank->clock_uncertainty_ns > worst_ns)
            worst_ns = rank->clock_uncertainty_ns;
    }
    return buffer_printf(text, "The clocks of %zu of %zu ranks are aligned; the largest error bound is ",
                         aligned, ranks) ||
           text_time(text, worst_ns) ||
           buffer_append_text(text, ". Delays are computed from durations, not from clocks.");
}

static int put_clocks(const struct html_run *run, const struct table *table)
{
    static const struct html_table how = {.caption = "Clock offset of each rank relative to the first rank",
                                          .bars = "uncertainty_us",
                                          .most_rows = MOST_CLOCKS,
                                          .rest_command = "clocks"};
    struct buffer text = BUFFER_INIT;
    int failed = html_run_section(run, "clocks", "Clocks") || append_clocks(run->job, &text) ||
                 html_put(run->page, "p", &text) ||
                 buffer_append_text(run->page, "<details><summary>Each rank</summary>\n") ||
                 html_add_table_of(run->job->store, run->job->run_id, run->page, table, &how) ||
                 buffer_append_text(run->page, "</details>\n") || html_section_end(run->whole);
    buffer_release(&text);
    return failed ? -1 : 0;
}

int html_add_clocks(const struct html_run *run, struct error *error)
{
    struct table table;
    table_init(&table, "clocks");
    int failed = clock_rows_begin(&table, error) || clock_rows_add(run->job, &table, error);
    for (size_t i = 0; !failed && i < table.warning_count; i++)
        failed = table_add_warning(run->notes, error, "%s", table.warnings[i]);
    if (!failed && table.row_count) {
        table.columns[table_find_column(&table, "run")].hidden = 1;
        failed = put_clocks(run, &table) ? error_no_memory(error) : 0;
    }
    table_release(&table);
    return failed ? -1 : 0;
}

static int put_item(struct buffer *page, const char *name, struct buffer *value)
{
    return html_element(page, "dt", name) || html_put(page, "dd", value) ? -1 : 0;
}

static int put_scope(const struct html_run *run)
{
    const struct scope *scope = &run->judgement->scope;
    const struct job *job = run->job;
    struct buffer text = BUFFER_INIT;
    int failed =
        buffer_append_text(run->page, "<dl>\n") || scope_append_judged(scope, &text) ||
        put_item(run->page, "Analyzed", &text) || scope_append_gaps(scope, &text) ||
        (!text.length && buffer_append_text(&text, "nothing")) ||
        put_item(run->page, "Not analyzed", &text) ||
        buffer_printf(&text, "%zu of %lld", job_recorded_ranks(job), (long long)job->expected_ranks) ||
        put_item(run->page, "Ranks with a trace", &text) ||
        buffer_printf(&text, "%s", job->step_source ? job->step_source : "nothing") ||
        put_item(run->page, "Steps detected from", &text) ||
        buffer_printf(&text, "%lld of %zu", (long long)job->timed_operations, job->operation_count) ||
        put_item(run->page, "Operations with timestamps", &text) ||
        buffer_printf(
            &text,
            "%lld missing between other operations, %lld in damaged lines, %lld dropped by the recorder",
            (long long)job->missing_sequence, (long long)job->damaged_lines, (long long)job->lost_events) ||
        put_item(run->page, "Lost", &text) || buffer_append_text(run->page, "</dl>\n");
    buffer_release(&text);
    return failed ? -1 : 0;
}

static int put_notes(const struct html_run *run)
{
    const struct table *notes = run->notes;
    if (!notes->warning_count)
        return 0;
    if (html_element(run->page, "h3", "Notes") || buffer_append_text(run->page, "<ul>\n"))
        return -1;
    for (size_t i = 0; i < notes->warning_count; i++)
        if (html_element(run->page, "li", notes->warnings[i]))
            return -1;
    return buffer_append_text(run->page, "</ul>\n");
}

int html_add_coverage(const struct html_run *run, struct error *error)
{
    return html_run_section(run, "coverage", "Coverage") || put_scope(run) || put_notes(run) ||
                   html_section_end(run->whole)
               ? error_no_memory(error)
               : 0;
}

static int copy_row(struct table *table, const struct cell *cells, struct error *error)
{
    if (table_add_row(table, error))
        return -1;
    for (size_t i = 0; i < table->column_count; i++) {
        if (cells[i].type == CELL_INTEGER)
            table_set_integer(table, i, cells[i].integer);
        else if (cells[i].type == CELL_TEXT && table_set_text(table, i, cells[i].text, error))
            return -1;
    }
    return 0;
}

static int read_ledger(struct store *store, struct table *table, struct error *error)
{
    const struct query_limits no_limits = {.seconds = 0};
    const struct cell *cells;
    struct query *query = query_open(store, schema_info_info_ledger, &no_limits, error);
    if (!query)
        return -1;
    int more = 1;
    for (size_t i = 0; i < query_head(query)->column_count; i++) {
        struct column column = query_head(query)->columns[i];
        column.name = table_keep_text(table, column.name);
        if (!column.name || table_add_column(table, column, error)) {
            query_close(query);
            return error_no_memory(error);
        }
    }
    while (more == 1 && (more = query_next(query, &cells, error)) == 1)
        if (copy_row(table, cells, error))
            more = -1;
    query_close(query);
    return more;
}

static int put_ledger(const struct store *store, struct html_page *page, const struct table *table)
{
    static const struct html_table how = {
        .caption = "By reason", .most_rows = MOST_REASONS, .rest_command = "info --ledger"};
    return html_section_begin(page, "ledger", "Skipped input", "Skipped input") ||
                   html_element(&page->body, "p",
                                "Skipped input: unreadable lines (damage = 1) and lines of types that "
                                "ncclprof does not store.") ||
                   html_add_table_of(store, 0, &page->body, table, &how) || html_section_end(page)
               ? -1
               : 0;
}

int html_add_ledger(struct store *store, struct html_page *page, struct error *error)
{
    struct table table;
    table_init(&table, "info");
    int failed = read_ledger(store, &table, error);
    if (!failed && table.row_count && put_ledger(store, page, &table))
        failed = error_no_memory(error);
    table_release(&table);
    return failed ? -1 : 0;
}

/* The page of compare --html: the comparison, then the verdict and the findings of each run. */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "output/output.h"
#include "report/html.h"
#include "report/report.h"
#include "report/verdicts.h"

#include <string.h>

/* Most rows of the table. */
enum { MOST_COMPARED = 400 };

/* How many rows were compared, and how many of them differ beyond noise. */
struct outcome {
    size_t compared;
    size_t beyond;
};

static struct outcome outcome_of(const struct table *table)
{
    struct outcome outcome = {0};
    int column = table_find_column(table, "significant");
    for (size_t row = 0; column >= 0 && row < table->row_count; row++) {
        const struct cell *cell = table_cell(table, row, (size_t)column);
        outcome.compared += cell->type == CELL_INTEGER;
        outcome.beyond += cell->type == CELL_INTEGER && cell->integer == 1;
    }
    return outcome;
}

static int put_warnings(struct buffer *page, const struct table *table)
{
    if (!table->warning_count)
        return 0;
    if (html_element(page, "h3", "Notes") || buffer_append_text(page, "<ul>\n"))
        return -1;
    for (size_t i = 0; i < table->warning_count; i++)
        if (html_element(page, "li", table->warnings[i]))
            return -1;
    return buffer_append_text(page, "</ul>\n");
}

static int append_title(const struct table *table, struct buffer *title)
{
    struct outcome outcome = outcome_of(table);
    if (outcome.beyond)
        return buffer_printf(title, "A and B: %zu difference%s beyond noise", outcome.beyond,
                             outcome.beyond == 1 ? "" : "s");
    return buffer_append_text(title, outcome.compared ? "A and B: no difference beyond noise"
                                                      : "A and B cannot be compared");
}

/* The section with the differences in words. */
static int put_words(struct html_page *page, const struct table *table, const char *words)
{
    struct outcome outcome = outcome_of(table);
    struct buffer title = BUFFER_INIT;
    int failed = html_section_begin(page, "comparison", "Comparison", "Comparison") ||
                 buffer_printf(&page->body, "<div class=\"verdict%s\">\n",
                               outcome.beyond || !outcome.compared ? " doubt" : "") ||
                 append_title(table, &title) || html_put(&page->body, "p", &title) ||
                 html_lines(&page->body, "p", words) || buffer_append_text(&page->body, "</div>\n") ||
                 put_warnings(&page->body, table) || html_section_end(page);
    buffer_release(&title);
    return failed ? -1 : 0;
}

/* The section with all rows, in whatever columns the table has. */
static int put_rows(struct html_page *page, const struct table *table, const char *command)
{
    const struct html_table how = {.caption = "Changes beyond noise are highlighted",
                                   .most_rows = MOST_COMPARED,
                                   .marks = "significant",
                                   .low = "low",
                                   .middle = "change_percent",
                                   .high = "high",
                                   .rest_command = command};
    return table->row_count && (html_section_begin(page, "rows", "All comparisons", "All comparisons") ||
                                html_add_table(&page->body, table, &how) || html_section_end(page))
               ? -1
               : 0;
}

static int add_judged(struct html_run *run, struct judged_run *judged, struct error *error)
{
    run->findings = judged_run_shown(judged, error);
    return !run->findings || html_add_verdict(run, error) || html_add_findings(run, error) ? -1 : 0;
}

/* Adds the verdict of a run to the list, and its sections to the page. */
static int add_run(struct html_page *page, struct buffer *list, const struct html_compared *compared,
                   size_t number, struct error *error)
{
    struct diagnose_options options;
    struct judged_run judged;
    struct table notes;
    if (diagnose_options_usual(&options, compared->store, compared->memory_mib, error) ||
        judged_run_init(&judged, compared->store, compared->run_id, &options, error))
        return -1;
    findings_sort(&judged.findings);
    table_init(&notes, "compare");
    struct html_run run = {.store = compared->store,
                           .job = &judged.job,
                           .baseline = &judged.baseline,
                           .told_job = judged.judgement.told,
                           .told = &judged.findings,
                           .judgement = &judged.judgement,
                           .notes = &notes,
                           .number = (int64_t)number,
                           .names_run = 1,
                           .side = compared->side,
                           .whole = page,
                           .page = &page->body,
                           .data = &page->data,
                           .list = list};
    int failed = add_judged(&run, &judged, error);
    table_release(&notes);
    judged_run_release(&judged);
    return failed ? -1 : 0;
}

/* The differences in words and the verdicts of the runs come first. */
static int make_page(struct html_page *page, const struct html_compared *runs, size_t count,
                     const struct table *table, const char *words, const char *command, struct error *error)
{
    struct buffer list = BUFFER_INIT;
    if (put_words(page, table, words))
        return error_no_memory(error);
    page->overview = page->body;
    page->body = (struct buffer)BUFFER_INIT;
    int failed = put_rows(page, table, command) ? error_no_memory(error) : 0;
    for (size_t i = 0; !failed && i < count; i++)
        failed = runs[i].run_id && add_run(page, &list, &runs[i], i + 1, error);
    if (!failed && list.length &&
        (buffer_append(&page->overview, list.data, list.length) ||
         buffer_append_text(&page->overview, "</section>\n")))
        failed = error_no_memory(error);
    buffer_release(&list);
    return failed ? -1 : 0;
}

int html_write_comparison(const char *path, const struct html_compared *runs, size_t count,
                          const struct table *table, const char *words, const char *command,
                          struct error *error)
{
    struct html_page page = {.body = BUFFER_INIT};
    struct buffer title = BUFFER_INIT;
    struct output *output = NULL;
    int failed = make_page(&page, runs, count, table, words, command, error);
    if (!failed && append_title(table, &title))
        failed = error_no_memory(error);
    if (!failed)
        failed = !(output = output_open(path, OUTPUT_PLAIN, error));
    if (!failed)
        failed = html_page_write(&page, title.data, output, error);
    if (output && failed)
        output_discard(output);
    else if (output)
        failed = output_close(output, error);
    html_page_release(&page);
    buffer_release(&title);
    return failed ? -1 : 0;
}

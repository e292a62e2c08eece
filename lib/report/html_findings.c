/* Section of the HTML report: the findings of a run with their evidence as charts. */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "output/output.h"
#include "report/html.h"
#include "report/report.h"
#include "report/steps.h"
#include "report/verdicts.h"

#include <stdlib.h>
#include <string.h>

/* The ranks at fault. */
static const int32_t *accused(const struct finding *finding, size_t *count)
{
    *count = finding->rank_count ? finding->rank_count : 1;
    return finding->rank_count ? finding->ranks : &finding->rank;
}

/* The figure "call" of a finding, from 1: which operation of the step its evidence is about; 0: not known. */
static int32_t call_of(const struct finding *finding)
{
    for (size_t i = 0; i < finding->figures.count; i++)
        if (strcmp(finding->figures.items[i].name, "call") == 0)
            return (int32_t)finding->figures.items[i].value;
    return 0;
}

/* The position in the rank's role that the finding is about; -1: none. */
static int32_t position_of(const struct html_run *run, const struct finding *finding)
{
    const struct baseline *baseline = run->baseline;
    int32_t role = finding->operation < 0 ? -1 : baseline->role_of_rank[finding->rank];
    int32_t at = role < 0 ? -1 : baseline->positions[finding->operation];
    if (at < 0 || baseline->role_of_rank[run->job->operations[finding->operation].rank] != role)
        return -1;
    int32_t call = finding->kind == FINDING_NETWORK ? 0 : call_of(finding);
    return call ? role_sequence(&baseline->roles[role], at).begin + call - 1 : at;
}

/* An operation at that position; NULL: none. */
static const struct job_operation *operation_at(const struct html_run *run, const struct finding *finding,
                                                int32_t position)
{
    struct job_range range = {run->job->ranks[finding->rank].first, 0};
    range.end = range.first + run->job->ranks[finding->rank].count;
    for (size_t i = range.first; i < range.end; i++)
        if (run->baseline->positions[i] == position)
            return &run->job->operations[i];
    return NULL;
}

static int append_title(const struct html_run *run, const struct finding *finding, int32_t position,
                        const char *what, struct buffer *title)
{
    const struct job_operation *operation = operation_at(run, finding, position);
    const struct role *role = &run->baseline->roles[run->baseline->role_of_rank[finding->rank]];
    int32_t number = position_in_step(role, position) + 1;
    const char *function = operation ? function_name(operation->function) : NULL;
    return buffer_append_text(title, what) ||
                   text_place(title, number, "each step", function,
                              operation ? &run->job->communicators[operation->communicator] : NULL)
               ? -1
               : 0;
}

static int draw(const struct html_run *run, const struct finding *finding, const struct step_history *history,
                const char *title)
{
    struct buffer names = BUFFER_INIT, marked = BUFFER_INIT;
    unsigned char *steps = array_new((size_t)history->steps + 1, 1);
    int32_t begin = html_run_first_step(run) - history->first_step;
    begin = begin < 0 ? 0 : begin < history->steps ? begin : history->steps;
    int failed = !steps || finding_name_unit(finding, run->job, &names) ||
                 buffer_printf(&marked, "%s in steps of the finding", names.data);
    for (int32_t i = 0; !failed && i < history->steps; i++)
        steps[i] = finding_has_step(finding, history->first_step + i) != 0;
    struct html_chart chart = {.title = title,
                               .mine_name = names.data,
                               .peers_name = "its peers: median, and range of the middle 80 %",
                               .mine_ns = history->mine_ns + begin,
                               .peers_ns = history->peers_ns + begin,
                               .low_ns = history->low_ns + begin,
                               .high_ns = history->high_ns + begin,
                               .marked = steps ? steps + begin : NULL,
                               .marked_name = marked.data,
                               .first_step = html_run_step(run, history->first_step + begin),
                               .steps = (size_t)(history->steps - begin)};
    failed = failed || html_add_chart(run->page, &chart);
    buffer_release(&names);
    buffer_release(&marked);
    free(steps);
    return failed ? -1 : 0;
}

/* Most other ends that a title names. */
enum { MOST_ENDS_NAMED = 4 };

static int append_waits_title(const struct html_run *run, const struct finding *finding, struct buffer *title)
{
    size_t ends = finding->peer_count <= MOST_ENDS_NAMED ? finding->peer_count : 0;
    return buffer_printf(title, "Wait of a network step of data %s",
                         finding->receives ? "sent to it" : "that it sends") ||
           (ends &&
            (buffer_printf(title, " %s rank%s ", finding->receives ? "by" : "to", ends > 1 ? "s" : "") ||
             finding_name_peers(finding, run->job, title))) ||
           buffer_append_text(title, " (SendWait), mean per step");
}

/* Draws the waits of network steps, if any were recorded. */
static int draw_waits(const struct html_run *run, const struct finding *finding, int *is_drawn)
{
    struct step_history history;
    struct wait_ends ends = {
        .others = finding->peers, .other_count = finding->peer_count, .by_receiver = finding->receives};
    ends.ranks = accused(finding, &ends.count);
    int failed = wait_history_init(&history, run->job, &ends);
    struct buffer title = BUFFER_INIT;
    *is_drawn = !failed && step_history_known(&history) > 0;
    if (*is_drawn)
        failed = append_waits_title(run, finding, &title) || draw(run, finding, &history, title.data);
    buffer_release(&title);
    step_history_release(&history);
    return failed;
}

static int draw_place(const struct html_run *run, const struct finding *finding)
{
    struct buffer title = BUFFER_INIT;
    struct step_history history;
    int is_network = finding->kind == FINDING_NETWORK;
    int32_t position = position_of(run, finding);
    size_t count;
    const int32_t *ranks = accused(finding, &count);
    if (position < 0)
        return 0;
    int failed =
        place_history_init(&history, run->job, run->baseline, ranks, count, position,
                           is_network ? PLACE_TRANSFER : PLACE_GAP) ||
        append_title(run, finding, position, is_network ? "Transfer time of " : "Gap before ", &title) ||
        draw(run, finding, &history, title.data);
    step_history_release(&history);
    buffer_release(&title);
    return failed ? -1 : 0;
}

static const struct column columns_of_counts[] = {
    {.name = "rank", .type = CELL_TEXT, .description = "name of the rank"},
    {.name = "called", .type = CELL_INTEGER, .description = "operations that it called in the step"},
    {.name = "finished", .type = CELL_INTEGER, .description = "those of them that finished"},
    {.name = "last",
     .type = CELL_TEXT,
     .description = "the last operation that it called, in this step or before"},
};

static int count_rank(const struct html_run *run, int32_t rank, int32_t step, struct table *table,
                      struct error *error)
{
    struct rank_progress progress;
    struct buffer text = BUFFER_INIT;
    rank_progress_count(&progress, run->job, rank, step, step);
    if (table_add_row(table, error))
        return -1;
    table_set_integer(table, 1, progress.called);
    table_set_integer(table, 2, progress.finished);
    int failed = rank_progress_append(run->job, progress.last, &text) ||
                 (text.length && table_set_text(table, 3, text.data, error));
    buffer_release(&text);
    return failed || table_set_text(table, 0, run->job->ranks[rank].name, error) ? -1 : 0;
}

/* Adds the ranks at fault first, then the others of these rows. */
static int count_ranks(const struct html_run *run, const struct finding *finding,
                       const struct html_rows *rows, struct table *table, struct error *error)
{
    for (int at_fault = 1; at_fault >= 0; at_fault--)
        for (size_t i = 0; i < rows->count; i++)
            if ((finding_has_rank(finding, rows->ranks[i]) != 0) == at_fault &&
                count_rank(run, rows->ranks[i], finding->first_step, table, error))
                return -1;
    return 0;
}

static int append_counts_caption(const struct html_run *run, const struct finding *finding, size_t shown,
                                 struct buffer *caption)
{
    return (shown < run->job->rank_count
                ? buffer_printf(caption, "Progress of %zu of %zu ranks", shown, run->job->rank_count)
                : buffer_append_text(caption, "Progress of each rank")) ||
           buffer_printf(caption, " in step %d", (int)job_run_step(run->job, finding->first_step));
}

/* Adds how far ranks came in the step in which the job stopped. */
static int add_counts(const struct html_run *run, const struct finding *finding)
{
    struct buffer caption = BUFFER_INIT;
    struct html_rows rows;
    struct table table;
    struct error error = ERROR_INIT;
    table_init(&table, "html");
    int failed = html_rows_init(&rows, run, NULL) ||
                 table_add_columns(&table, columns_of_counts,
                                   sizeof columns_of_counts / sizeof *columns_of_counts, &error) ||
                 count_ranks(run, finding, &rows, &table, &error) ||
                 append_counts_caption(run, finding, rows.count, &caption);
    const struct html_table how = {.caption = caption.data,
                                   .bars = "finished",
                                   .most_rows = HTML_ROWS_MOST,
                                   .rest_command = "steps --by rank"};
    failed = failed || html_add_table_of(run->job->store, run->job->run_id, run->page, &table, &how);
    html_rows_release(&rows);
    table_release(&table);
    buffer_release(&caption);
    return failed ? -1 : 0;
}

/*
 * Draws the evidence of a finding: the gap time, transfer time or wait of the ranks at fault, by step, beside
 * those of their peers. Draws nothing if no step has it. Returns -1 when memory is out.
 */
static int html_add_evidence(const struct html_run *run, const struct finding *finding)
{
    int is_drawn = 0;
    if (finding->at_start || finding->first_step < 0 || finding->first_step >= run->job->step_count)
        return 0;
    if (finding->kind > FINDING_NETWORK || finding->stops_job)
        return add_counts(run, finding);
    if (finding->kind == FINDING_NETWORK && run->job->traffic_count && draw_waits(run, finding, &is_drawn))
        return -1;
    return is_drawn ? 0 : draw_place(run, finding);
}

/* The text of a finding, and beside it its evidence. */
static int put_finding(const struct html_run *run, const struct finding *finding,
                       const struct job_record *record)
{
    const struct finding *told = html_run_told(run, finding);
    struct buffer headline = BUFFER_INIT, paragraph = BUFFER_INIT;
    int is_told = finding_is_reported(finding);
    int failed =
        finding_append_headline(told, run->told_job, &headline) ||
        finding_add_paragraph(told, run->told_job, record, run->names_run, 0, &paragraph) ||
        buffer_printf(run->page, "<article class=\"finding%s\" id=\"finding-%lld-%zu\">\n<div>",
                      is_told ? "" : " low", (long long)run->number,
                      (size_t)(finding - run->findings->items)) ||
        html_element(run->page, "h3", headline.data) || html_put_badges(run, finding, headline.data) ||
        html_put_paragraph(run, paragraph.data, NULL) || buffer_append_text(run->page, "</div>\n<div>") ||
        (is_told && html_add_evidence(run, finding)) || buffer_append_text(run->page, "</div>\n</article>\n");
    buffer_release(&headline);
    buffer_release(&paragraph);
    return failed ? -1 : 0;
}

static int add_finding(const struct html_run *run, const struct finding *finding, struct error *error)
{
    struct job_record record = {.at_ns = TIME_UNKNOWN, .wall_ns = TIME_UNKNOWN};
    const struct finding *told = html_run_told(run, finding);
    int failed =
        told->operation >= 0 && job_find_record(run->told_job, (size_t)told->operation, &record, error);
    if (!failed && put_finding(run, finding, &record))
        failed = error_no_memory(error);
    job_record_release(&record);
    return failed ? -1 : 0;
}

/* Adds the findings that diagnose shows by default, or the others. */
static int add_those(const struct html_run *run, int are_told, struct error *error)
{
    for (size_t i = 0; i < run->findings->count; i++)
        if ((finding_is_reported(&run->findings->items[i]) != 0) == are_told &&
            add_finding(run, &run->findings->items[i], error))
            return -1;
    return 0;
}

int html_add_findings(const struct html_run *run, struct error *error)
{
    size_t told = html_run_finding_count(run), low = run->findings->count - told;
    if (!run->findings->count)
        return 0;
    if (html_run_section(run, "findings", "Findings") ||
        (!told && html_element(run->page, "p", "No finding of medium or high confidence.")))
        return error_no_memory(error);
    if (add_those(run, 1, error))
        return -1;
    if (low && buffer_printf(run->page, "<details><summary>%zu of low confidence</summary>\n", low))
        return error_no_memory(error);
    if (low && add_those(run, 0, error))
        return -1;
    return (low && buffer_append_text(run->page, "</details>\n")) || html_section_end(run->whole)
               ? error_no_memory(error)
               : 0;
}

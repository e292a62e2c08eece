/*
 * The table of `steps --by rank`: a row for each rank, over the selected steps, with its own delay, what it
 * started and finished, and the findings of diagnose that blame it. The ranks at fault come first, so that
 * they stand beside their peers.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "report/internal.h"
#include "report/report.h"
#include "report/steps.h"
#include "report/verdicts.h"

#include <stdlib.h>

static const struct column columns[] = {
    RANK_COLUMN,
    PROCESS_COLUMN,
    {.name = "host", .type = CELL_TEXT, .detail = 1, .description = "host of the rank, if known"},
    {.name = "first_step",
     .type = CELL_INTEGER,
     .detail = 1,
     .description = "first step that the row covers"},
    {.name = "last_step", .type = CELL_INTEGER, .detail = 1, .description = "last step that the row covers"},
    {.name = "own_us",
     .type = CELL_REAL,
     .unit = "us",
     .description = "own delay: gap time above baseline that made other ranks wait, sum over the steps"},
    {.name = "waiting_us",
     .type = CELL_REAL,
     .unit = "us",
     .description = "wait for the last rank to arrive, sum over the steps"},
    {.name = "started",
     .type = CELL_INTEGER,
     .hidden = 1,
     .description = "operations that it started in these steps"},
    {.name = "finished", .type = CELL_INTEGER, .hidden = 1, .description = "those of them that finished"},
    {.name = "last",
     .type = CELL_TEXT,
     .hidden = 1,
     .description = "the last operation that it started, in these steps or before"},
    {.name = "finding",
     .type = CELL_TEXT,
     .description = "findings of diagnose that blame the rank in these steps, with their cost to the job"},
    {.name = "tag", .type = CELL_TEXT, .detail = 1, .description = "phase of the most expensive of them"},
    {.name = "lost_us", .type = CELL_REAL, .unit = "us", .hidden = 1, .description = "cost of that finding"},
    {.name = "confidence",
     .type = CELL_TEXT,
     .colour_of = confidence_colour,
     .description = "of that finding: high, medium or low"},
    JOB_COLUMN,
};

enum {
    AT_RANK,
    AT_PROCESS,
    AT_HOST,
    AT_FIRST_STEP,
    AT_LAST_STEP,
    AT_OWN,
    AT_WAITING,
    AT_STARTED,
    AT_FINISHED,
    AT_LAST,
    AT_FINDING,
    AT_TAG,
    AT_LOST,
    AT_CONFIDENCE,
    AT_RUN,
    COLUMN_COUNT
};

int steps_by_rank_begin(struct table *table, struct error *error)
{
    return table_add_columns(table, columns, COLUMN_COUNT, error);
}

/*
 * The selected steps of a job, in its numbers; those of all its operations, also of those in no step, if none
 * are selected.
 */
struct selected_steps {
    int32_t first;
    int32_t last;
    int are_all;
};

struct rank_row {
    int32_t rank;
    int64_t own_ns; /* TIME_UNKNOWN, like the next */
    int64_t waiting_ns;
    struct rank_progress progress;
    const struct finding *finding; /* the most important one; NULL: none */
};

static int is_selected(const struct selected_steps *steps, int32_t step)
{
    return steps->are_all || (step >= steps->first && step <= steps->last);
}

/* Whether the steps of a finding, if they are known, overlap the selected ones. */
static int covers(const struct rank_choice *choice, const struct selected_steps *steps, int32_t rank,
                  const struct finding *finding)
{
    return (finding_is_reported(finding) || choice->shows_low) && finding_has_rank(finding, rank) &&
           (finding->first_step < 0 || steps->are_all ||
            (finding->first_step <= steps->last && finding->last_step >= steps->first));
}

static void add_time(int64_t *sum_ns, int64_t time_ns)
{
    if (time_ns != TIME_UNKNOWN)
        *sum_ns = (*sum_ns == TIME_UNKNOWN ? 0 : *sum_ns) + time_ns;
}

static void add_times(const struct job *job, const struct rank_step *times,
                      const struct selected_steps *steps, struct rank_row *row)
{
    row->own_ns = row->waiting_ns = TIME_UNKNOWN;
    if (!job->timed_operations)
        return;
    for (int32_t step = job->first_step; step < job->step_count; step++) {
        const struct rank_step *of = &times[(size_t)row->rank * (size_t)job->step_count + (size_t)step];
        if (!is_selected(steps, step))
            continue;
        add_time(&row->own_ns, of->own_ns);
        add_time(&row->waiting_ns, of->waiting_ns);
    }
}

static void find_finding(const struct rank_choice *choice, const struct findings *findings,
                         const struct selected_steps *steps, struct rank_row *row)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        if (covers(choice, steps, row->rank, finding) &&
            (!row->finding || finding_is_before(finding, row->finding)))
            row->finding = finding;
    }
}

/* Ranks with findings come first, then those with the longest own delay. */
static int by_blame(const void *a, const void *b)
{
    const struct rank_row *left = a, *right = b;
    if (!left->finding != !right->finding)
        return left->finding ? -1 : 1;
    if (left->finding && finding_is_before(left->finding, right->finding))
        return -1;
    if (left->finding && finding_is_before(right->finding, left->finding))
        return 1;
    if (left->own_ns != right->own_ns)
        return left->own_ns > right->own_ns ? -1 : 1;
    return left->rank - right->rank;
}

/* Appends "compute, 131 ms" or "missing, rank 5 or rank 7". */
static int append_finding(const struct job *job, const struct finding *finding, struct buffer *text)
{
    int is_of_several = finding->rank_count > 1 || finding->candidate_count;
    return (text->length && buffer_append_text(text, "; ")) ||
           buffer_append_text(text, finding_kind_name(finding->kind)) ||
           (is_of_several && (buffer_append_text(text, ", ") || finding_name_unit(finding, job, text))) ||
           (finding->lost_ns > 0 && (buffer_append_text(text, ", ") || text_time(text, finding->lost_ns)));
}

/* All findings that blame the rank, the most important one first. */
static int append_findings(const struct rank_choice *choice, const struct job *job,
                           const struct findings *findings, const struct selected_steps *steps,
                           const struct rank_row *row, struct buffer *text)
{
    if (!row->finding)
        return 0;
    int failed = append_finding(job, row->finding, text);
    for (size_t i = 0; !failed && i < findings->count; i++)
        if (&findings->items[i] != row->finding && covers(choice, steps, row->rank, &findings->items[i]))
            failed = append_finding(job, &findings->items[i], text);
    return failed;
}

static int set_buffer(struct table *table, size_t column, struct buffer *text, struct error *error)
{
    int failed = text->length && table_set_text(table, column, text->data, error);
    buffer_clear(text);
    return failed;
}

static void set_time(struct table *table, size_t column, int64_t ns)
{
    if (ns != TIME_UNKNOWN)
        table_set_real(table, column, (double)ns / 1e3);
}

static int set_finding(const struct job *job, const struct finding *finding, struct table *table,
                       struct error *error)
{
    const char *tag = finding ? job_tag(job, finding->tag) : NULL;
    if (!finding)
        return 0;
    if (finding->lost_ns > 0)
        set_time(table, AT_LOST, finding->lost_ns);
    return (tag && table_set_text(table, AT_TAG, tag, error)) ||
           table_set_text(table, AT_CONFIDENCE, confidence_name(finding->confidence), error);
}

static int add_row(const struct rank_choice *choice, const struct job *job, const struct findings *findings,
                   const struct selected_steps *steps, const struct rank_row *row, struct table *table,
                   struct error *error)
{
    const struct job_rank *rank = &job->ranks[row->rank];
    struct buffer text = BUFFER_INIT;
    if (table_add_row(table, error))
        return -1;
    if (rank->global_rank >= 0)
        table_set_integer(table, AT_RANK, rank->global_rank);
    if (job->step_count && steps->first <= steps->last) {
        table_set_integer(table, AT_FIRST_STEP, job_run_step(job, steps->first));
        table_set_integer(table, AT_LAST_STEP, job_run_step(job, steps->last));
    }
    set_time(table, AT_OWN, row->own_ns);
    set_time(table, AT_WAITING, row->waiting_ns);
    table_set_integer(table, AT_STARTED, row->progress.started);
    table_set_integer(table, AT_FINISHED, row->progress.finished);
    table_set_integer(table, AT_RUN, job->run_id);
    int failed = rank_progress_append(job, row->progress.last_started, &text)
                     ? error_no_memory(error)
                     : set_buffer(table, AT_LAST, &text, error);
    if (!failed)
        failed = append_findings(choice, job, findings, steps, row, &text)
                     ? error_no_memory(error)
                     : set_buffer(table, AT_FINDING, &text, error);
    buffer_release(&text);
    return failed || table_set_text(table, AT_PROCESS, rank->name, error) ||
                   (rank->facts.host && table_set_text(table, AT_HOST, rank->facts.host, error)) ||
                   set_finding(job, row->finding, table, error)
               ? -1
               : 0;
}

/* Whether something never finished, or a finding says why the job stopped. */
static int has_stopped(const struct rank_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].progress.finished != rows[i].progress.started ||
            (rows[i].finding && !finding_is_of_steps(rows[i].finding)))
            return 1;
    return 0;
}

static void choose_columns(const struct job *job, const struct rank_row *rows, struct table *table)
{
    int hides = !has_stopped(rows, job->rank_count);
    if (!job->has_global_ranks)
        table->columns[AT_PROCESS].hidden = 0;
    table->columns[AT_STARTED].hidden &= hides;
    table->columns[AT_FINISHED].hidden &= hides;
    table->columns[AT_LAST].hidden &= hides;
}

static struct selected_steps select_steps(const struct job *job, const struct filter *filter)
{
    struct selected_steps steps = {
        .first = job_first_shown(job), .last = job->step_count - 1, .are_all = !job->excerpt_count};
    if (!filter || (filter->steps.first <= 0 && filter->steps.last == INT64_MAX))
        return steps;
    steps.are_all = 0;
    while (steps.first <= steps.last && job_run_step(job, steps.first) < filter->steps.first)
        steps.first++;
    while (steps.last >= steps.first && job_run_step(job, steps.last) > filter->steps.last)
        steps.last--;
    return steps;
}

int steps_by_rank_add(const struct rank_choice *choice, const struct job *job,
                      const struct baseline *baseline, const struct findings *findings, struct table *table,
                      struct error *error)
{
    struct selected_steps steps = select_steps(job, choice->filter);
    struct rank_row *rows = array_new(job->rank_count + 1, sizeof *rows);
    struct rank_step *times = rank_steps_new(job, baseline);
    int failed = rows && times ? 0 : error_no_memory(error);
    for (size_t i = 0; !failed && i < job->rank_count; i++) {
        rows[i].rank = (int32_t)i;
        rank_progress_count(&rows[i].progress, job, rows[i].rank, steps.are_all ? -1 : steps.first,
                            steps.are_all ? INT32_MAX : steps.last);
        add_times(job, times, &steps, &rows[i]);
        find_finding(choice, findings, &steps, &rows[i]);
    }
    if (!failed) {
        choose_columns(job, rows, table);
        array_sort(rows, job->rank_count, sizeof *rows, by_blame);
    }
    for (size_t i = 0; !failed && i < job->rank_count; i++)
        failed = add_row(choice, job, findings, &steps, &rows[i], table, error);
    free(rows);
    free(times);
    return failed ? -1 : 0;
}

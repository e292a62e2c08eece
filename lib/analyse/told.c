#include "analyse/told.h"

#include "analyse/filter.h"
#include "base/escape.h"
#include "job/excerpts.h"
#include "verdict/finding_json.h"
#include "verdict/finding_names.h"
#include "verdict/finding_text.h"
#include "verdict/rule_text.h"
#include "verdict/words.h"

static const struct column columns[] = {
    {.name = "kind",
     .type = CELL_TEXT,
     .description = "compute, host, network, missing, mismatch, ended_early or error"},
    {.name = "rank", .type = CELL_INTEGER, .description = "global rank at fault"},
    {.name = "process", .type = CELL_TEXT, .description = "name of the rank"},
    {.name = "tag", .type = CELL_TEXT, .description = "phase with the largest part of the fault"},
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
           set_peers(finding, job, table, error);
}

int told_begin(struct told *told, struct error *error)
{
    return table_add_columns(&told->result->table, columns, COLUMN_COUNT, error);
}

void told_release(struct told *told)
{
    buffer_release(&told->largest);
}

/* Whether a filter asks for one of the ranks that it accuses, or may. */
static int has_asked_rank(const struct filter *filter, const struct job *job, const struct finding *finding)
{
    int has = filter_has_rank(filter, job->ranks[finding->rank].global_rank);
    for (size_t i = 0; !has && i < finding->rank_count; i++)
        has = filter_has_rank(filter, job->ranks[finding->ranks[i]].global_rank);
    for (size_t i = 0; !has && i < finding->candidate_count; i++)
        has = filter_has_rank(filter, job->ranks[finding->candidates[i]].global_rank);
    return has;
}

/* Whether it is what filters ask for; the first ones where only so many are asked for. */
static int is_asked_for(struct told *told, const struct job *job, const struct finding *finding)
{
    const struct filter *filter = told->request->filter;
    if (!filter)
        return 1;
    int fits = has_asked_rank(filter, job, finding) &&
               filter_has_steps(filter, job_run_step(job, finding->first_step),
                                job_run_step(job, finding->last_step)) &&
               filter_is_text(filter->tag, job_tag(job, finding->tag));
    return fits && (!filter->top || told->listed++ < filter->top);
}

/* A finding of low confidence that is not shown: the largest is named. */
static int hide(struct told *told, const struct job *job, const struct finding *finding)
{
    struct buffer *text = &told->largest;
    told->hidden++;
    if (finding->lost_ns <= told->largest_ns)
        return 0;
    told->largest_ns = finding->lost_ns;
    buffer_clear(text);
    return buffer_printf(text, "%s, rank %s, ", finding_kind_name(finding->kind),
                         job->ranks[finding->rank].name) ||
           (finding->first_step >= 0 &&
            buffer_printf(text, "step %d, ", (int)job_run_step(job, finding->first_step))) ||
           text_time(text, finding->lost_ns);
}

static int show(struct told *told, const struct job *job, const struct finding *finding,
                const struct job_record *record)
{
    struct buffer *text = &told->result->text;
    return finding_add_paragraph(finding, job, record, told->names_runs, told->request->colour, text) ||
           (told->explains && readings_explain(&finding->readings, text));
}

/* Where the trace says it: a line of a log that reports it, else the operation in which it shows. */
static int find_record(const struct job *job, const struct finding *finding, struct job_record *record,
                       struct error *error)
{
    if (finding->warning)
        return job_find_warning(job, finding->warning, record, error);
    return finding->operation >= 0 ? job_find_record(job, (size_t)finding->operation, record, error) : 0;
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
    int failed = finding_say(finding, job, &sentence) ||
                         finding_add_json(finding, job, &record, sentence.data, &told->result->json) ||
                         (is_shown ? show(told, job, finding, &record) : hide(told, job, finding))
                     ? error_no_memory(error)
                     : add_row(finding, job, sentence.data, &told->result->table, error);
    buffer_release(&sentence);
    job_record_release(&record);
    return failed;
}

int told_add(struct told *told, const struct job *job, struct findings *findings, struct error *error)
{
    findings_sort(findings);
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        int is_shown = finding_is_told(finding) || told->show_low;
        told->found += finding_is_told(finding);
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

static int say_hidden(const struct told *told, struct buffer *text)
{
    const char *plural = told->hidden == 1 ? "" : "s";
    return buffer_printf(text, "%d low-confidence finding%s not shown", told->hidden, plural) ||
           (told->largest.length && (buffer_append_text(text, told->hidden == 1 ? " (" : " (largest: ") ||
                                     escape_terminal(text, told->largest.data, told->largest.length) ||
                                     buffer_append_byte(text, ')'))) ||
           buffer_append_text(text, "; use --all\n");
}

int told_say_rest(const struct told *told, struct buffer *text)
{
    if (told->left_out && buffer_printf(text, "%d finding%s not match the filters\n", told->left_out,
                                        told->left_out == 1 ? " does" : "s do"))
        return -1;
    return told->hidden ? say_hidden(told, text) : 0;
}

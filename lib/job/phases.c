/*
 * The phases of a rank: the time from each tag that its program set to the next one. A phase needs no
 * operation: data loading, a checkpoint, an evaluation.
 */
#include "base/base.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include "schemas.h"

#include <stdlib.h>
#include <string.h>

int job_load_tags(struct job *job, struct error *error)
{
    struct statement *statement =
        store_prepare_for(job->store, schema_analysis_job_mark_texts, job->run_id, error);
    int row = statement ? 1 : -1;
    while (row == 1 && (row = statement_step(statement, error)) == 1) {
        const char *text = statement_text(statement, 0);
        if (text && intern_put(&job->tags, text, strlen(text)) < 0)
            row = error_no_memory(error);
    }
    statement_free(statement);
    return row;
}

/* Adds a mark, unless it changes nothing. */
static int add_mark(struct job_marks *marks, int64_t at_ns, int32_t tag, struct error *error)
{
    if (marks->count && marks->items[marks->count - 1].tag == tag)
        return 0;
    if (array_reserve((void **)&marks->items, &marks->capacity, marks->count + 1, sizeof *marks->items))
        return error_no_memory(error);
    marks->items[marks->count++] = (struct job_mark){at_ns, tag};
    return 0;
}

int job_marks_load(struct job_marks *marks, const struct job *job, int32_t rank, struct error *error)
{
    struct tag_stack stack = {.top = -1};
    marks->count = 0;
    /* Tests have jobs that come from no store. */
    if (!job->store || job->ranks[rank].process_id < 0)
        return 0;
    struct statement *statement = store_prepare(job->store, schema_analysis_job_marks, error);
    int row = statement && !statement_bind_integer(statement, 1, job->ranks[rank].process_id, error) &&
                      !statement_bind_integer(statement, 2, job->ranks[rank].id, error)
                  ? 1
                  : -1;
    while (row == 1 && (row = statement_step(statement, error)) == 1) {
        const char *text = statement_text(statement, 3);
        tag_stack_apply(&stack, statement_integer(statement, 1), statement_integer(statement, 2) != 0,
                        text ? (int32_t)intern_find(&job->tags, text) : -1);
        if (add_mark(marks, statement_integer(statement, 0), tag_stack_innermost(&stack), error))
            row = -1;
    }
    statement_free(statement);
    return row;
}

void job_marks_release(struct job_marks *marks)
{
    free(marks->items);
    *marks = (struct job_marks){.items = NULL};
}

static int is_before(const void *mark, const void *at_ns)
{
    return ((const struct job_mark *)mark)->at_ns <= *(const int64_t *)at_ns;
}

/* The end of the phase that begins with a mark, `end_ns` at most. */
static int64_t end_of(const struct job_marks *marks, size_t at, int64_t end_ns)
{
    return at + 1 < marks->count && marks->items[at + 1].at_ns < end_ns ? marks->items[at + 1].at_ns : end_ns;
}

void job_late_each(const struct job *job, const struct job_marks *marks,
                   const struct job_operation *operation,
                   void (*take)(void *context, int32_t tag, int64_t ns), void *context)
{
    int64_t late_ns = marks->count ? job_lateness(job, operation) : TIME_UNKNOWN;
    if (late_ns == TIME_UNKNOWN || late_ns <= 0)
        return;
    int64_t end_ns = operation->enqueued_ns + job_delay(job, operation), begin_ns = end_ns - late_ns;
    size_t at = lower_bound(marks->items, marks->count, sizeof *marks->items, is_before, &begin_ns);
    for (at -= at > 0; at < marks->count && marks->items[at].at_ns < end_ns; at++) {
        int64_t from_ns = marks->items[at].at_ns > begin_ns ? marks->items[at].at_ns : begin_ns,
                to_ns = end_of(marks, at, end_ns);
        if (to_ns > from_ns)
            take(context, marks->items[at].tag, to_ns - from_ns);
    }
}

void job_marks_each(const struct job_marks *marks, const struct job_issues *issues, int32_t steps,
                    void (*take)(void *context, int32_t step, int32_t tag, int64_t ns), void *context)
{
    int32_t step = 0, last = -1;
    for (size_t i = 0; i + 1 < marks->count; i++) {
        const struct job_mark *mark = &marks->items[i];
        for (; step < steps && (issues[step].last_ns == TIME_UNKNOWN || issues[step].last_ns < mark->at_ns);
             step++)
            last = issues[step].last_ns == TIME_UNKNOWN ? last : step;
        int32_t of = step < steps ? step : last;
        if (mark->tag >= 0 && of >= 0 && !(issues[of].after_gap && mark->at_ns < issues[of].first_ns))
            take(context, of, mark->tag, marks->items[i + 1].at_ns - mark->at_ns);
    }
}

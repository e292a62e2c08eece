#include "timeline/draw_steps.h"

#include "base/array.h"
#include "base/keyed.h"
#include "job/step_index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int never_ended(const struct job_operation *operation)
{
    return operation->unfinished && operation->end_ns == TIME_UNKNOWN;
}

static void widen(const struct canvas *canvas, size_t operation, struct step_span *span)
{
    int64_t begin_ns = canvas_begin_ns(canvas, operation), end_ns = canvas_end_ns(canvas, operation);
    if (begin_ns == TIME_UNKNOWN)
        return;
    if (span->begin_ns == TIME_UNKNOWN || begin_ns < span->begin_ns)
        span->begin_ns = begin_ns;
    end_ns = never_ended(&canvas->job->operations[operation]) ? INT64_MAX
             : end_ns == TIME_UNKNOWN                         ? begin_ns
                                                              : end_ns;
    if (end_ns > span->end_ns)
        span->end_ns = end_ns;
}

/* An array with nothing known. */
static struct step_span *new_spans(const struct job *job)
{
    struct step_span *spans = array_new((size_t)job->step_count, sizeof *spans);
    for (int32_t step = 0; spans && step < job->step_count; step++)
        spans[step] = (struct step_span){TIME_UNKNOWN, TIME_UNKNOWN};
    return spans;
}

static void add_rank(const struct canvas *canvas, int32_t rank, struct step_span *spans)
{
    const struct job *job = canvas->job;
    const struct job_rank *of = &job->ranks[rank];
    for (size_t i = of->first; i < of->first + of->count; i++)
        if (job->operations[i].step >= 0)
            widen(canvas, i, &spans[job->operations[i].step]);
}

/* A step lasts until the next begins. */
static void join_spans(const struct job *job, struct step_span *spans)
{
    int64_t next_ns = TIME_UNKNOWN;
    for (int32_t step = job->step_count - 1; step >= 0; step--) {
        if (next_ns != TIME_UNKNOWN && spans[step].begin_ns != TIME_UNKNOWN)
            spans[step].end_ns = next_ns > spans[step].begin_ns ? next_ns : spans[step].begin_ns;
        next_ns = spans[step].begin_ns != TIME_UNKNOWN ? spans[step].begin_ns : next_ns;
    }
}

struct step_span *step_spans_new(const struct canvas *canvas)
{
    const struct job *job = canvas->job;
    struct step_span *spans = new_spans(job);
    for (int32_t rank = 0; spans && rank < (int32_t)job->rank_count; rank++)
        if (job_is_aligned(&job->ranks[rank]))
            add_rank(canvas, rank, spans);
    if (spans)
        join_spans(job, spans);
    return spans;
}

/* Drawing the steps of a rank, one after the other, on one track. */
struct drawing {
    struct canvas *canvas;
    int32_t rank;
    struct strip strip;
    struct keyed *ends; /* owned, as the next: when operations of a step ended, and which these are */
    struct keyed *scratch;
};

static int has_step(const struct timeline_selection *selection, int32_t step)
{
    return !selection->has_steps || (step >= selection->first_step && step <= selection->last_step);
}

/* The operations of a step, or without steps all, in the order in which they ended. */
static size_t list_ends(struct drawing *drawing, int32_t step)
{
    const struct job *job = drawing->canvas->job;
    const struct job_rank *rank = &job->ranks[drawing->rank];
    struct job_range range = {rank->first, rank->first + rank->count};
    size_t count = 0;
    if (step >= 0)
        range = job_operations_in(job, drawing->rank, step, step);
    for (size_t i = range.first; i < range.end; i++) {
        struct step_span span = {TIME_UNKNOWN, TIME_UNKNOWN};
        if (job->operations[i].step == step)
            widen(drawing->canvas, i, &span);
        if (span.begin_ns != TIME_UNKNOWN)
            drawing->ends[count++] = (struct keyed){span.end_ns, (int32_t)i};
    }
    keyed_sort(drawing->ends, drawing->scratch, count);
    return count;
}

static int draw_phase(struct drawing *drawing, uint64_t track, int32_t tag, int64_t begin_ns, int64_t end_ns,
                      struct error *error)
{
    struct canvas *canvas = drawing->canvas;
    const char *wanted = canvas->selection->tag, *name = job_tag(canvas->job, tag);
    if (!name || (wanted && strcmp(wanted, name) != 0))
        return 0;
    const struct perfetto_event event = {
        .track = track, .at_ns = begin_ns, .category = "phase", .name = name};
    if (perfetto_begin(&canvas->perfetto, &event, error))
        return -1;
    return end_ns == INT64_MAX ? 0 : perfetto_end(&canvas->perfetto, track, end_ns, error);
}

/* From the span's begin on: what lasts longer is in the next step. */
static int draw_phases(struct drawing *drawing, int32_t step, uint64_t track, const struct step_span *span,
                       struct error *error)
{
    const struct job *job = drawing->canvas->job;
    size_t count = list_ends(drawing, step);
    int64_t begin_ns = span->begin_ns;
    int failed = 0;
    for (size_t i = 0; !failed && i < count; i++) {
        int32_t tag = job->operations[drawing->ends[i].index].tag;
        int64_t end_ns = drawing->ends[i].key < span->end_ns ? drawing->ends[i].key : span->end_ns;
        if (i + 1 < count && job->operations[drawing->ends[i + 1].index].tag == tag)
            continue;
        if (end_ns > begin_ns)
            failed = draw_phase(drawing, track, tag, begin_ns, end_ns, error);
        begin_ns = end_ns > begin_ns ? end_ns : begin_ns;
    }
    return failed;
}

static int draw_step(struct drawing *drawing, int32_t step, const struct step_span *span, struct error *error)
{
    struct canvas *canvas = drawing->canvas;
    char name[32];
    int lane;
    if (strip_place(canvas, &drawing->strip, span->begin_ns, span->end_ns, &lane, error) || lane < 0)
        return lane < 0 ? 0 : -1;
    snprintf(name, sizeof name, "step %d", (int)step);
    const struct perfetto_event event = {
        .track = drawing->strip.tracks[lane], .at_ns = span->begin_ns, .category = "step", .name = name};
    if ((step >= 0 && perfetto_begin(&canvas->perfetto, &event, error)) ||
        draw_phases(drawing, step, event.track, span, error))
        return -1;
    return step < 0 || span->end_ns == INT64_MAX
               ? 0
               : perfetto_end(&canvas->perfetto, event.track, span->end_ns, error);
}

/* Phases alone, where there are no steps. */
static int draw_without_steps(struct drawing *drawing, struct error *error)
{
    struct step_span all = {TIME_UNKNOWN, TIME_UNKNOWN};
    const struct job_rank *rank = &drawing->canvas->job->ranks[drawing->rank];
    for (size_t i = rank->first; i < rank->first + rank->count; i++)
        widen(drawing->canvas, i, &all);
    return all.begin_ns == TIME_UNKNOWN || drawing->canvas->selection->has_steps
               ? 0
               : draw_step(drawing, -1, &all, error);
}

static int draw_all(struct drawing *drawing, struct step_span *spans, struct error *error)
{
    const struct job *job = drawing->canvas->job;
    int failed = 0;
    add_rank(drawing->canvas, drawing->rank, spans);
    join_spans(job, spans);
    if (!job->step_count)
        return draw_without_steps(drawing, error);
    for (int32_t step = 0; !failed && step < job->step_count; step++)
        if (spans[step].begin_ns != TIME_UNKNOWN && has_step(drawing->canvas->selection, step))
            failed = draw_step(drawing, step, &spans[step], error);
    return failed;
}

int draw_steps(struct canvas *canvas, int32_t rank, struct error *error)
{
    size_t most = canvas->job->ranks[rank].count;
    struct step_span *spans = new_spans(canvas->job);
    struct drawing drawing = {
        .canvas = canvas,
        .rank = rank,
        .strip = {.rank = rank,
                  .name = "Steps",
                  .description = "Training steps and their phases. A phase lasts from the end of the "
                                 "operation before it to the end of its own last operation."},
        .ends = array_new(most, sizeof *drawing.ends),
        .scratch = array_new(most, sizeof *drawing.scratch),
    };
    int failed =
        spans && drawing.ends && drawing.scratch ? draw_all(&drawing, spans, error) : error_no_memory(error);
    free(spans);
    free(drawing.ends);
    free(drawing.scratch);
    return failed ? -1 : 0;
}

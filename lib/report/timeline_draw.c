/*
 * Draws the timeline of a job: calls, findings, steps with their phases, then everything in order for each
 * rank. timeline_operations.c and timeline_proxies.c draw the rest.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "output/output.h"
#include "report/timeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int draw_call(struct canvas *canvas, struct track_group *group, size_t at, struct error *error)
{
    const struct job *job = canvas->job;
    const struct job_operation *operation = &job->operations[at];
    const char *name = function_name((enum function)operation->function), *source = job_source(job, at);
    const struct trace_argument arguments[] = {
        {"communicator", job->communicators[operation->communicator].label, 0},
        {"number", NULL, job->instances[operation->instance].sequence},
        {"source", source, 0}};
    int64_t begin_ns = common_clock_host(&canvas->clock, group->rank, canvas->calls[at].begin_ns);
    int64_t end_ns = common_clock_host(&canvas->clock, group->rank, canvas->calls[at].end_ns);
    struct trace_event event = {.at_ns = begin_ns,
                                .category = "call",
                                .name = name ? name : "operation",
                                .arguments = arguments,
                                .argument_count = source ? 3 : 2};
    if (end_ns != TIME_UNKNOWN && end_ns < begin_ns)
        end_ns = begin_ns;
    return track_group_draw(canvas, group, &event, end_ns, error);
}

/*
 * Draws the host's part of each operation on a rank: from the call until the operation was enqueued, or a
 * mark for the call.
 */
static int draw_calls(struct canvas *canvas, int32_t rank, struct error *error)
{
    const struct job_rank *of = &canvas->job->ranks[rank];
    struct track_group group = {.rank = rank,
                                .name = "calls",
                                .description = "Host: from the call until the operation was enqueued."};
    struct sort_entry *begins = array_new(of->count, sizeof *begins);
    struct sort_entry *scratch = array_new(of->count, sizeof *scratch);
    size_t count = 0;
    int failed = begins && scratch ? 0 : error_no_memory(error);
    for (size_t i = of->first; !failed && i < of->first + of->count; i++)
        if (canvas_shows(canvas, i) && canvas->calls[i].begin_ns != TIME_UNKNOWN)
            begins[count++] = (struct sort_entry){canvas->calls[i].begin_ns, (int32_t)i};
    if (!failed)
        sort_entries(begins, scratch, count);
    for (size_t i = 0; !failed && i < count; i++)
        failed = draw_call(canvas, &group, (size_t)begins[i].index, error);
    free(begins);
    free(scratch);
    return failed ? -1 : 0;
}

/*
 * Begin and end of a step over all ranks with aligned clocks, on the common clock, indexed by step;
 * TIME_UNKNOWN.
 */
struct step_span {
    int64_t begin_ns;
    int64_t end_ns;
};

/* The texts of a finding. */
struct words {
    struct buffer name;
    struct buffer text;
    struct buffer advice;
};

static int say(const struct canvas *canvas, const struct finding *finding, struct words *words)
{
    const struct job *job = canvas->findings->told_job;
    buffer_clear(&words->name);
    buffer_clear(&words->text);
    buffer_clear(&words->advice);
    return buffer_printf(&words->name, "%s: ", finding_kind_name(finding->kind)) ||
           finding_name_unit(finding, job, &words->name) || finding_append(finding, job, &words->text) ||
           finding_append_next(finding, job, &words->advice);
}

/* When the finding first shows, else the begin of its first step. */
static int64_t begin_of(const struct canvas *canvas, const struct finding *finding,
                        const struct step_span *spans)
{
    int64_t begin_ns =
        finding->operation >= 0 ? canvas_begin_ns(canvas, (size_t)finding->operation) : TIME_UNKNOWN;
    if (begin_ns == TIME_UNKNOWN && finding->first_step >= 0)
        begin_ns = spans[finding->first_step].begin_ns;
    return begin_ns == TIME_UNKNOWN ? 0 : begin_ns;
}

/* The end of its last step; without end if the job hung; TIME_UNKNOWN if it is not known. */
static int64_t end_of(const struct finding *finding, const struct step_span *spans, int64_t begin_ns)
{
    if (finding->stops_job)
        return INT64_MAX;
    int64_t end_ns = finding->last_step >= 0 ? spans[finding->last_step].end_ns : TIME_UNKNOWN;
    return end_ns > begin_ns ? end_ns : TIME_UNKNOWN;
}

static int draw_findings_draw(struct canvas *canvas, const struct finding *finding,
                              const struct step_span *spans, struct track_group *group,
                              const struct words *words, struct error *error)
{
    const struct trace_argument arguments[] = {
        {"text", words->text.data, 0},
        {"confidence", confidence_name(finding->confidence), 0},
        {"evidence", finding->evidence.data ? finding->evidence.data : "", 0},
        {"next", words->advice.data, 0},
        {"lost_us", NULL, finding->lost_ns / 1000},
    };
    struct trace_event event = {.at_ns = begin_of(canvas, finding, spans),
                                .category = "finding",
                                .name = words->name.data,
                                .arguments = arguments,
                                .argument_count = sizeof arguments / sizeof *arguments};
    return track_group_draw(canvas, group, &event, end_of(finding, spans, event.at_ns), error);
}

static int accuses_shown(const struct canvas *canvas, const struct finding *finding)
{
    for (size_t i = 0; i < canvas->job->rank_count; i++)
        if (canvas->selection->ranks[i] && finding_has_rank(finding, (int32_t)i))
            return 1;
    return 0;
}

static int is_drawn(const struct canvas *canvas, const struct finding *finding, int32_t rank)
{
    const struct timeline_selection *selection = canvas->selection;
    const struct job *job = canvas->job;
    int in_steps = finding->first_step >= 0 && finding->first_step < job->step_count &&
                   job_run_step(job, finding->first_step) <= selection->last_step &&
                   job_run_step(job, finding->last_step) >= selection->first_step;
    return finding_is_reported(finding) && (in_steps || (!selection->has_steps && !job->excerpt_count)) &&
           (rank == NO_RANK ? accuses_shown(canvas, finding) : finding_has_rank(finding, rank));
}

/*
 * Draws findings over their steps, with their texts: on the track of a rank those that blame it, or with
 * NO_RANK all that blame a rank that is drawn.
 */
static int draw_findings(struct canvas *canvas, const struct step_span *spans, int32_t rank,
                         struct error *error)
{
    const struct findings *findings = canvas->findings->drawn;
    struct words words = {.name = BUFFER_INIT, .text = BUFFER_INIT, .advice = BUFFER_INIT};
    struct track_group group = {.rank = rank,
                                .name = rank == NO_RANK ? "findings" : "Findings",
                                .description =
                                    "Findings of ncclprof diagnose. Click on a finding for details."};
    int failed = 0;
    for (size_t i = 0; !failed && i < findings->count; i++) {
        if (!is_drawn(canvas, &findings->items[i], rank))
            continue;
        canvas->counts->findings += rank == NO_RANK;
        failed = say(canvas, &canvas->findings->told->items[i], &words)
                     ? error_no_memory(error)
                     : draw_findings_draw(canvas, &findings->items[i], spans, &group, &words, error);
    }
    buffer_release(&words.name);
    buffer_release(&words.text);
    buffer_release(&words.advice);
    return failed ? -1 : 0;
}

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

/* An array with all values unknown. */
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

/* A step lasts until the next one begins. */
static void join_spans(const struct job *job, struct step_span *spans)
{
    int64_t next_ns = TIME_UNKNOWN;
    for (int32_t step = job->step_count - 1; step >= 0; step--) {
        if (job_is_break(job, step)) {
            next_ns = TIME_UNKNOWN;
            continue;
        }
        if (next_ns != TIME_UNKNOWN && spans[step].begin_ns != TIME_UNKNOWN)
            spans[step].end_ns = next_ns > spans[step].begin_ns ? next_ns : spans[step].begin_ns;
        next_ns = spans[step].begin_ns != TIME_UNKNOWN ? spans[step].begin_ns : next_ns;
    }
}

/* The caller frees the result; NULL when memory is out. */
static struct step_span *step_spans_new(const struct canvas *canvas)
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

/* Draws the steps of a rank in succession on one track. */
struct drawing {
    struct canvas *canvas;
    int32_t rank;
    struct track_group track_group;
    struct sort_entry
        *ends; /* owned, like the next: when the operations of a step ended, and their indices */
    struct sort_entry *scratch;
};

static int has_step(const struct canvas *canvas, int32_t step)
{
    const struct timeline_selection *selection = canvas->selection;
    int64_t number = job_run_step(canvas->job, step);
    return !selection->has_steps || (number >= selection->first_step && number <= selection->last_step);
}

/* Lists the operations of a step, or all of them if there are no steps, by end. */
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
            drawing->ends[count++] = (struct sort_entry){span.end_ns, (int32_t)i};
    }
    sort_entries(drawing->ends, drawing->scratch, count);
    return count;
}

static int draw_phase(struct drawing *drawing, uint64_t track, int32_t tag, int64_t begin_ns, int64_t end_ns,
                      struct error *error)
{
    struct canvas *canvas = drawing->canvas;
    const char *wanted = canvas->selection->tag, *name = job_tag(canvas->job, tag);
    if (!name || (wanted && strcmp(wanted, name) != 0))
        return 0;
    const struct trace_event event = {.track = track, .at_ns = begin_ns, .category = "phase", .name = name};
    if (trace_begin(&canvas->trace, &event, error))
        return -1;
    return end_ns == INT64_MAX ? 0 : trace_end(&canvas->trace, track, end_ns, error);
}

/* The first phase starts at the begin of the span. What lasts beyond its end is in the next step. */
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
    if (track_group_place(canvas, &drawing->track_group, span->begin_ns, span->end_ns, &lane, error) ||
        lane < 0)
        return lane < 0 ? 0 : -1;
    snprintf(name, sizeof name, "step %d", (int)job_run_step(canvas->job, step));
    const struct trace_event event = {.track = drawing->track_group.tracks[lane],
                                      .at_ns = span->begin_ns,
                                      .category = "step",
                                      .name = name};
    if ((step >= 0 && trace_begin(&canvas->trace, &event, error)) ||
        draw_phases(drawing, step, event.track, span, error))
        return -1;
    return step < 0 || span->end_ns == INT64_MAX
               ? 0
               : trace_end(&canvas->trace, event.track, span->end_ns, error);
}

/* Draws phases alone, if there are no steps. */
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
        if (spans[step].begin_ns != TIME_UNKNOWN && has_step(drawing->canvas, step))
            failed = draw_step(drawing, step, &spans[step], error);
    return failed;
}

/*
 * Draws the steps of a rank as slices, each up to the next one, with their phases inside. A phase is a tag:
 * it lasts from the end of the previous operation, on any stream, to the end of its own last operation
 * (step_summary.c).
 */
static int draw_steps(struct canvas *canvas, int32_t rank, struct error *error)
{
    size_t most = canvas->job->ranks[rank].count;
    struct step_span *spans = new_spans(canvas->job);
    struct drawing drawing = {
        .canvas = canvas,
        .rank = rank,
        .track_group = {.rank = rank,
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

/*
 * Perfetto shows process numbers behind the names and takes 0 for the idle process; these are far from any
 * rank number.
 */
enum { FIRST_PROCESS = 1000000 };

static const char *clock_method(const struct job_rank *rank)
{
    static const char *const methods[] = {"not aligned", "reference", "shared", "meetings", "contradictory"};
    return methods[rank->clock_method];
}

/* Appends the error bound of a rank's clock: "clock +-12.3 us". */
static int append_clock(const struct job_rank *rank, struct buffer *text)
{
    if (!job_is_aligned(rank))
        return buffer_append_text(text, "clock is not aligned");
    return buffer_append_text(text, "clock +-") || text_time(text, rank->clock_uncertainty_ns);
}

static int add_process(struct canvas *canvas, int32_t number, const char *name, const char *clock,
                       struct error *error)
{
    const struct job_rank *rank = &canvas->job->ranks[number];
    const struct trace_track track = {.id = canvas_process(number),
                                      .name = "clock",
                                      .description =
                                          "How the clock of the rank was aligned with the other clocks.",
                                      .process = name,
                                      .process_number = FIRST_PROCESS + number,
                                      .order = number,
                                      .labels = {rank->facts.host, clock}};
    struct trace_argument arguments[4] = {{"method", clock_method(rank), 0}};
    size_t count = 1;
    if (rank->facts.host)
        arguments[count++] = (struct trace_argument){"host", rank->facts.host, 0};
    if (job_is_aligned(rank)) {
        arguments[count++] = (struct trace_argument){"uncertainty_ns", NULL, rank->clock_uncertainty_ns};
        arguments[count++] = (struct trace_argument){"offset_ns", NULL, rank->clock_offset_ns};
    }
    const struct trace_event event = {.track = track.id,
                                      .category = "clock",
                                      .name = "clock",
                                      .arguments = arguments,
                                      .argument_count = count};
    return trace_add_track(&canvas->trace, &track, error) || trace_mark(&canvas->trace, &event, error) ? -1
                                                                                                       : 0;
}

static void count_clock(struct timeline_counts *counts, const struct job_rank *rank, int32_t number)
{
    counts->unaligned += !job_is_aligned(rank);
    if (job_is_aligned(rank) &&
        (counts->most_uncertain < 0 || rank->clock_uncertainty_ns > counts->uncertainty_ns)) {
        counts->most_uncertain = number;
        counts->uncertainty_ns = rank->clock_uncertainty_ns;
    }
}

static int begin_rank(struct canvas *canvas, int32_t number, struct error *error)
{
    const struct job_rank *rank = &canvas->job->ranks[number];
    struct buffer name = BUFFER_INIT, clock = BUFFER_INIT;
    int failed = buffer_printf(&name, "rank %s", rank->name) || append_clock(rank, &clock)
                     ? error_no_memory(error)
                     : add_process(canvas, number, name.data, clock.data, error);
    buffer_release(&name);
    buffer_release(&clock);
    canvas->counts->ranks++;
    count_clock(canvas->counts, rank, number);
    return failed;
}

/* Draws the mark at time 0. */
static int draw_zero(struct canvas *canvas, struct error *error)
{
    struct track_group group = {.rank = NO_RANK, .name = "clock"};
    struct buffer utc = BUFFER_INIT;
    int64_t wall_ns = canvas->clock.wall_ns;
    int failed = wall_ns != TIME_UNKNOWN && text_utc(&utc, wall_ns) ? error_no_memory(error) : 0;
    const struct trace_argument arguments[] = {
        {"zero", "first call or operation of the job, on the clock of the first rank", 0},
        {"utc", utc.data, 0}};
    struct trace_event event = {
        .category = "clock", .name = "clock", .arguments = arguments, .argument_count = utc.length ? 2 : 1};
    failed = failed || track_group_draw(canvas, &group, &event, TIME_UNKNOWN, error);
    buffer_release(&utc);
    return failed;
}

static int draw_ranks(struct canvas *canvas, const struct waits *waits, const struct step_span *spans,
                      struct error *error)
{
    const struct job *job = canvas->job;
    int failed = draw_zero(canvas, error) || draw_findings(canvas, spans, NO_RANK, error);
    for (int32_t rank = 0; !failed && rank < (int32_t)job->rank_count; rank++)
        if (canvas->selection->ranks[rank] && job->ranks[rank].count)
            failed = begin_rank(canvas, rank, error) || draw_findings(canvas, spans, rank, error) ||
                     draw_steps(canvas, rank, error) || draw_operations(canvas, waits, rank, error) ||
                     draw_calls(canvas, rank, error);
    return failed || (canvas->selection->with_proxies && draw_proxies(canvas, error));
}

static int draw(struct canvas *canvas, struct error *error)
{
    struct waits waits;
    struct step_span *spans = step_spans_new(canvas);
    int failed = waits_init(&waits, canvas) || !spans ? error_no_memory(error)
                                                      : draw_ranks(canvas, &waits, spans, error);
    free(spans);
    waits_release(&waits);
    return failed;
}

int timeline_write(const struct job *job, const struct timeline_findings *findings,
                   const struct timeline_selection *selection, const struct trace_format *format,
                   struct output *output, struct timeline_counts *counts, struct error *error)
{
    struct canvas canvas;
    int failed = canvas_init(&canvas, job, findings, selection, format, output, counts, error) ||
                 draw(&canvas, error) || trace_finish(&canvas.trace, error);
    counts->slices = canvas.trace.slices;
    counts->unplaced_ranks = canvas.clock.unplaced_ranks;
    canvas_release(&canvas);
    return failed ? -1 : 0;
}

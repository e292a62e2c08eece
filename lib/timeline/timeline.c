#include "timeline/timeline.h"

#include "base/buffer.h"
#include "timeline/canvas.h"
#include "timeline/draw_calls.h"
#include "timeline/draw_findings.h"
#include "timeline/draw_operations.h"
#include "timeline/draw_proxies.h"
#include "timeline/draw_steps.h"
#include "timeline/waits.h"
#include "verdict/words.h"

#include <stdlib.h>

/* Perfetto shows them behind the name, and takes 0 for the idle process: far from any rank. */
enum { FIRST_PROCESS = 1000000 };

static const char *clock_method(const struct job_rank *rank)
{
    static const char *const methods[] = {"not aligned", "reference", "shared", "meetings", "contradictory"};
    return methods[rank->clock_method];
}

/* "clock +-12.3 us": how far its times may be off those of others. */
static int say_clock(const struct job_rank *rank, struct buffer *text)
{
    if (!job_is_aligned(rank))
        return buffer_append_text(text, "clock is not aligned");
    return buffer_append_text(text, "clock +-") || text_time(text, rank->clock_uncertainty_ns);
}

static int add_process(struct canvas *canvas, int32_t number, const char *name, const char *clock,
                       struct error *error)
{
    const struct job_rank *rank = &canvas->job->ranks[number];
    const struct perfetto_track track = {.id = canvas_process(number),
                                         .name = "clock",
                                         .description =
                                             "How the clock of the rank was aligned with the other clocks.",
                                         .process = name,
                                         .process_number = FIRST_PROCESS + number,
                                         .order = number,
                                         .labels = {rank->facts.host, clock}};
    struct perfetto_argument arguments[4] = {{"method", clock_method(rank), 0}};
    size_t count = 1;
    if (rank->facts.host)
        arguments[count++] = (struct perfetto_argument){"host", rank->facts.host, 0};
    if (job_is_aligned(rank)) {
        arguments[count++] = (struct perfetto_argument){"uncertainty_ns", NULL, rank->clock_uncertainty_ns};
        arguments[count++] = (struct perfetto_argument){"offset_ns", NULL, rank->clock_offset_ns};
    }
    const struct perfetto_event event = {.track = track.id,
                                         .category = "clock",
                                         .name = "clock",
                                         .arguments = arguments,
                                         .argument_count = count};
    return perfetto_add_track(&canvas->perfetto, &track, error) ||
                   perfetto_mark(&canvas->perfetto, &event, error)
               ? -1
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
    int failed = buffer_printf(&name, "rank %s", rank->name) || say_clock(rank, &clock)
                     ? error_no_memory(error)
                     : add_process(canvas, number, name.data, clock.data, error);
    buffer_release(&name);
    buffer_release(&clock);
    canvas->counts->ranks++;
    count_clock(canvas->counts, rank, number);
    return failed;
}

/* What all times are since. */
static int draw_zero(struct canvas *canvas, struct error *error)
{
    struct strip strip = {.rank = NO_RANK, .name = "clock"};
    struct buffer utc = BUFFER_INIT;
    int64_t wall_ns = canvas->clock.wall_ns;
    int failed = wall_ns != TIME_UNKNOWN && text_utc(&utc, wall_ns) ? error_no_memory(error) : 0;
    const struct perfetto_argument arguments[] = {
        {"zero", "first call or operation of the job, on the clock of the first rank", 0},
        {"utc", utc.data, 0}};
    struct perfetto_event event = {
        .category = "clock", .name = "clock", .arguments = arguments, .argument_count = utc.length ? 2 : 1};
    failed = failed || strip_draw(canvas, &strip, &event, TIME_UNKNOWN, error);
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

int timeline_write(const struct job *job, const struct findings *findings,
                   const struct timeline_selection *selection, struct output *output,
                   struct timeline_counts *counts, struct error *error)
{
    struct canvas canvas;
    int failed =
        canvas_init(&canvas, job, findings, selection, output, counts, error) || draw(&canvas, error);
    counts->slices = canvas.perfetto.slices;
    counts->adrift = canvas.clock.adrift;
    canvas_release(&canvas);
    return failed ? -1 : 0;
}

#include "timeline/canvas.h"

#include <stdlib.h>
#include <string.h>

int canvas_init(struct canvas *canvas, const struct job *job, const struct findings *findings,
                const struct timeline_selection *selection, struct output *output,
                struct timeline_counts *counts, struct error *error)
{
    *canvas = (struct canvas){.job = job, .selection = selection, .findings = findings, .counts = counts};
    *counts = (struct timeline_counts){.most_uncertain = -1};
    if (perfetto_open(&canvas->perfetto, output, error) || calls_read(job, &canvas->calls, error))
        return -1;
    return common_clock_init(&canvas->clock, job, canvas->calls, error);
}

void canvas_release(struct canvas *canvas)
{
    common_clock_release(&canvas->clock);
    perfetto_release(&canvas->perfetto);
    free(canvas->calls);
    canvas->calls = NULL;
}

static int is_text(const char *wanted, const char *text)
{
    return !wanted || (text && strcmp(wanted, text) == 0);
}

int canvas_shows(const struct canvas *canvas, size_t operation)
{
    const struct job *job = canvas->job;
    const struct job_operation *of = &job->operations[operation];
    const struct timeline_selection *selection = canvas->selection;
    return selection->ranks[of->rank] &&
           (!selection->has_steps ||
            (of->step >= selection->first_step && of->step <= selection->last_step)) &&
           is_text(selection->tag, job_tag(job, of->tag)) &&
           is_text(selection->communicator, job->communicators[of->communicator].label);
}

int64_t canvas_begin_ns(const struct canvas *canvas, size_t operation)
{
    const struct job_operation *of = &canvas->job->operations[operation];
    if (of->start_ns != TIME_UNKNOWN || of->end_ns != TIME_UNKNOWN)
        return common_clock_device(&canvas->clock, of,
                                   of->start_ns != TIME_UNKNOWN ? of->start_ns : of->end_ns);
    return common_clock_host(&canvas->clock, of->rank, canvas->calls[operation].begin_ns);
}

int64_t canvas_end_ns(const struct canvas *canvas, size_t operation)
{
    const struct job_operation *of = &canvas->job->operations[operation];
    if (of->start_ns != TIME_UNKNOWN || of->end_ns != TIME_UNKNOWN)
        return common_clock_device(&canvas->clock, of, of->end_ns);
    return common_clock_host(&canvas->clock, of->rank, canvas->calls[operation].end_ns);
}

/* The first numbers are those of processes. */
uint64_t canvas_process(int32_t rank)
{
    return (uint64_t)(int64_t)rank + 1;
}

static int add_track(struct canvas *canvas, const struct strip *strip, uint64_t *id, struct error *error)
{
    *id = canvas->job->rank_count + ++canvas->tracks;
    const struct perfetto_track track = {
        .id = *id,
        .parent = strip->rank == NO_RANK ? 0 : canvas_process(strip->rank),
        .name = strip->name,
        .description = strip->description,
    };
    return perfetto_add_track(&canvas->perfetto, &track, error);
}

int strip_place(struct canvas *canvas, struct strip *strip, int64_t begin_ns, int64_t end_ns, int *lane,
                struct error *error)
{
    int before = strip->lanes.count;
    *lane = lanes_place(&strip->lanes, begin_ns, end_ns);
    canvas->counts->crowded += *lane < 0;
    return strip->lanes.count > before ? add_track(canvas, strip, &strip->tracks[*lane], error) : 0;
}

int strip_draw(struct canvas *canvas, struct strip *strip, struct perfetto_event *event, int64_t end_ns,
               struct error *error)
{
    int lane;
    struct perfetto *perfetto = &canvas->perfetto;
    int is_mark = end_ns == TIME_UNKNOWN;
    if (strip_place(canvas, strip, event->at_ns, is_mark ? event->at_ns : end_ns, &lane, error))
        return -1;
    if (lane < 0)
        return 0;
    event->track = strip->tracks[lane];
    if (is_mark)
        return perfetto_mark(perfetto, event, error);
    if (perfetto_begin(perfetto, event, error))
        return -1;
    return end_ns == INT64_MAX ? 0 : perfetto_end(perfetto, event->track, end_ns, error);
}

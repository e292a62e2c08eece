/*
 * Writes Chrome traces, JSON for chrome://tracing, ui.perfetto.dev and scripts: the "JSON Object Format" of
 * Google's document "Trace Event Format". A process of the trace is a process there (pid: its number), a
 * track a thread (tid: the id of the track). Tracks without a process are threads of process 0. Times are
 * microseconds with three decimals, so nanoseconds are exact.
 */
#include "base/base.h"
#include "output/internal.h"
#include "output/output.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct chrome {
    struct buffer line;   /* the event that is being written */
    struct buffer labels; /* of a process, as one text */
    int32_t *processes;   /* per id of a track, the number of its process */
    size_t track_capacity;
    size_t events;
    int has_job; /* process 0 has a name */
};

/* Names the process of the tracks that belong to none. */
static const struct trace_track job_process = {.process = "job", .order = -1};

static int chrome_open(struct trace_writer *trace, struct error *error)
{
    trace->state = calloc(1, sizeof(struct chrome));
    return trace->state ? output_text(trace->output, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n", error)
                        : error_no_memory(error);
}

static int chrome_finish(struct trace_writer *trace, struct error *error)
{
    return output_text(trace->output, "\n]}\n", error);
}

static void chrome_release(void *state)
{
    struct chrome *chrome = state;
    if (!chrome)
        return;
    buffer_release(&chrome->line);
    buffer_release(&chrome->labels);
    free(chrome->processes);
    free(chrome);
}

/* Begins the line of an event, up to its time. */
static int begin_line(struct chrome *chrome, const char *phase, int32_t process, uint64_t track)
{
    buffer_clear(&chrome->line);
    return buffer_append_text(&chrome->line, chrome->events++ ? ",\n{" : "{") ||
                   text_json_string(&chrome->line, "ph", phase) ||
                   text_json_integer(&chrome->line, "pid", process) ||
                   buffer_printf(&chrome->line, ",\"tid\":%" PRIu64, track)
               ? -1
               : 0;
}

static int end_line(struct trace_writer *trace, struct error *error)
{
    struct chrome *chrome = trace->state;
    if (buffer_append_text(&chrome->line, "}"))
        return error_no_memory(error);
    return output_write(trace->output, chrome->line.data, chrome->line.length, error);
}

/* Writes a metadata event: `text`, else `number`, as argument `key`. */
static int write_fact(struct trace_writer *trace, const char *fact, int32_t process, uint64_t track,
                      const char *key, const char *text, int64_t number, struct error *error)
{
    struct chrome *chrome = trace->state;
    struct buffer *line = &chrome->line;
    if (begin_line(chrome, "M", process, track) || text_json_string(line, "name", fact) ||
        buffer_append_text(line, ",\"args\":{") ||
        (text ? text_json_string(line, key, text) : text_json_integer(line, key, number)) ||
        buffer_append_text(line, "}"))
        return error_no_memory(error);
    return end_line(trace, error);
}

static int join_labels(struct chrome *chrome, const struct trace_track *track)
{
    int failed = 0;
    buffer_clear(&chrome->labels);
    for (size_t i = 0; !failed && i < TRACE_LABELS; i++)
        if (track->labels[i])
            failed = (chrome->labels.length && buffer_append_text(&chrome->labels, ", ")) ||
                     buffer_append_text(&chrome->labels, track->labels[i]);
    return failed;
}

static int add_process(struct trace_writer *trace, const struct trace_track *track, struct error *error)
{
    struct chrome *chrome = trace->state;
    int32_t number = track->process_number;
    if (join_labels(chrome, track))
        return error_no_memory(error);
    return write_fact(trace, "process_name", number, track->id, "name", track->process, 0, error) ||
                   write_fact(trace, "process_sort_index", number, track->id, "sort_index", NULL,
                              track->order, error) ||
                   (chrome->labels.length && write_fact(trace, "process_labels", number, track->id, "labels",
                                                        chrome->labels.data, 0, error))
               ? -1
               : 0;
}

static int32_t process_of(const struct chrome *chrome, uint64_t track)
{
    return track < chrome->track_capacity ? chrome->processes[track] : 0;
}

static int keep_process(struct chrome *chrome, uint64_t track, int32_t process)
{
    size_t before = chrome->track_capacity;
    if (array_reserve((void **)&chrome->processes, &chrome->track_capacity, track + 1,
                      sizeof *chrome->processes))
        return -1;
    memset(chrome->processes + before, 0, (chrome->track_capacity - before) * sizeof *chrome->processes);
    chrome->processes[track] = process;
    return 0;
}

static int chrome_add_track(struct trace_writer *trace, const struct trace_track *track, struct error *error)
{
    struct chrome *chrome = trace->state;
    int32_t process = track->process ? track->process_number : process_of(chrome, track->parent);
    if (keep_process(chrome, track->id, process))
        return error_no_memory(error);
    if (!process && !chrome->has_job) {
        chrome->has_job = 1;
        if (add_process(trace, &job_process, error))
            return -1;
    }
    if (track->process && add_process(trace, track, error))
        return -1;
    return write_fact(trace, "thread_name", process, track->id, "name", track->name, 0, error) ||
                   write_fact(trace, "thread_sort_index", process, track->id, "sort_index", NULL,
                              (int64_t)track->id, error)
               ? -1
               : 0;
}

static int put_time(struct chrome *chrome, int64_t at_ns)
{
    return buffer_printf(&chrome->line, ",\"ts\":%" PRId64 ".%03d", at_ns / 1000, (int)(at_ns % 1000));
}

static int put_arguments(struct buffer *line, const struct trace_event *event)
{
    int failed = buffer_append_text(line, ",\"args\":{");
    for (size_t i = 0; !failed && i < event->argument_count; i++) {
        const struct trace_argument *argument = &event->arguments[i];
        failed = argument->text ? text_json_string(line, argument->key, argument->text)
                                : text_json_integer(line, argument->key, argument->number);
    }
    return failed || buffer_append_text(line, "}") ? -1 : 0;
}

/* One end of an arrow: it begins in the slice around it, and ends at the slice that begins here. */
static int write_arrow(struct trace_writer *trace, const struct trace_event *event, uint64_t arrow,
                       int is_begin, struct error *error)
{
    struct chrome *chrome = trace->state;
    if (begin_line(chrome, is_begin ? "s" : "f", process_of(chrome, event->track), event->track) ||
        put_time(chrome, event->at_ns) ||
        buffer_printf(&chrome->line, ",\"id\":%" PRIu64 ",\"cat\":\"waiting\",\"name\":\"waited for\"%s",
                      arrow, is_begin ? "" : ",\"bp\":\"e\""))
        return error_no_memory(error);
    return end_line(trace, error);
}

static int chrome_add_event(struct trace_writer *trace, const struct trace_event *event,
                            enum trace_event_type type, struct error *error)
{
    static const char *const phases[] = {[TRACE_BEGIN] = "B", [TRACE_END] = "E", [TRACE_MARK] = "i"};
    struct chrome *chrome = trace->state;
    struct buffer *line = &chrome->line;
    if (begin_line(chrome, phases[type], process_of(chrome, event->track), event->track) ||
        put_time(chrome, event->at_ns) || (type == TRACE_MARK && text_json_string(line, "s", "t")) ||
        (event->name && text_json_string(line, "name", event->name)) ||
        (event->category && text_json_string(line, "cat", event->category)) ||
        (event->argument_count && put_arguments(line, event)))
        return error_no_memory(error);
    if (end_line(trace, error))
        return -1;
    for (size_t i = 0; i < event->arrow_count; i++)
        if (write_arrow(trace, event, event->arrows[i], type == TRACE_MARK, error))
            return -1;
    return 0;
}

const struct trace_format trace_format_chrome = {
    .suffix = ".json",
    .open = chrome_open,
    .add_track = chrome_add_track,
    .add_event = chrome_add_event,
    .finish = chrome_finish,
    .release = chrome_release,
};

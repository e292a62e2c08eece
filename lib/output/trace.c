/*
 * Traces for people to look at: the formats, and what they share. lib/report/timeline_draw.c decides what to
 * draw.
 */
#include "base/base.h"
#include "output/internal.h"
#include "output/output.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

extern const struct trace_format trace_format_chrome;
extern const struct trace_format trace_format_perfetto;

/* Those that the name of a file asks for. */
static const struct trace_format *const formats[] = {&trace_format_chrome};

static int ends_with(const char *path, size_t length, const char *suffix)
{
    size_t count = strlen(suffix);
    return length > count && memcmp(path + length - count, suffix, count) == 0;
}

const struct trace_format *trace_format_of(const char *path)
{
    size_t length = strlen(path);
    if (ends_with(path, length, ".gz"))
        length -= strlen(".gz");
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (ends_with(path, length, formats[i]->suffix))
            return formats[i];
    return &trace_format_perfetto;
}

int trace_open(struct trace_writer *trace, const struct trace_format *format, struct output *output,
               struct error *error)
{
    *trace = (struct trace_writer){.format = format, .output = output};
    return format->open(trace, error);
}

int trace_finish(struct trace_writer *trace, struct error *error)
{
    return trace->format->finish(trace, error);
}

void trace_release(struct trace_writer *trace)
{
    trace->format->release(trace->state);
    trace->state = NULL;
}

int trace_add_track(struct trace_writer *trace, const struct trace_track *track, struct error *error)
{
    return trace->format->add_track(trace, track, error);
}

int trace_begin(struct trace_writer *trace, const struct trace_event *event, struct error *error)
{
    trace->slices++;
    return trace->format->add_event(trace, event, TRACE_BEGIN, error);
}

int trace_end(struct trace_writer *trace, uint64_t track, int64_t at_ns, struct error *error)
{
    const struct trace_event event = {.track = track, .at_ns = at_ns};
    return trace->format->add_event(trace, &event, TRACE_END, error);
}

int trace_mark(struct trace_writer *trace, const struct trace_event *event, struct error *error)
{
    return trace->format->add_event(trace, event, TRACE_MARK, error);
}

/*
 * The format "kineto": traces of PyTorch's profiler. Detects them, takes their events and job information
 * apart, and notes what is not read. trace.c keeps the parts, link.c connects them, emit.c makes events.
 */
#include "format/kineto/kineto.h"
#include "base/base.h"
#include "format/format.h"
#include "input/input.h"

#include <stdio.h>
#include <string.h>

static const char unknown_event[] = "unknown event";

/* Where a value is in the file. A list with only events is a trace that was rewritten by another program. */
enum place { OF_TRACE, OF_JOB, OF_GROUPS, OF_EVENTS, OF_LIST };

static const char *const places[] = {
    [OF_TRACE] = "*",
    [OF_JOB] = "distributedInfo.*",
    [OF_GROUPS] = "distributedInfo.pg_config[]",
    [OF_EVENTS] = "traceEvents[]",
    [OF_LIST] = "[]",
    NULL,
};

struct reading {
    struct kineto_trace trace;
    struct kineto_emitter emitter;
    struct tokens tokens;
    struct kineto_layouts layouts;
    const struct format_sink *sink;
};

static int note(const struct reading *reading, const char *reason, const struct tokens_value *value,
                struct error *error)
{
    return reading->sink->note(reading->sink->context, reason, 1, value->offset, value->value.text,
                               value->value.length, error);
}

static int take_event(struct reading *reading, const struct tokens_value *value, struct error *error)
{
    struct kineto_event event;
    if (kineto_event_read(value->value, &reading->layouts, &event))
        return note(reading, "unreadable event", value, error);
    if (kineto_trace_add(&reading->trace, &event, value->offset))
        return error_no_memory(error);
    return reading->trace.kernel_count == KINETO_KERNELS ? kineto_emit(&reading->emitter, 0, error) : 0;
}

/* On-demand traces have pg_config as text. */
static int take_text_of_groups(struct reading *reading, struct raw_json text)
{
    struct buffer plain = BUFFER_INIT;
    struct raw_json_cursor cursor;
    struct raw_json key, value;
    int failed = buffer_append_text(&plain, "") || raw_json_unescape(text, &plain);
    if (!failed)
        raw_json_enter(&cursor, (struct raw_json){plain.data, plain.length});
    while (!failed && raw_json_next(&cursor, &key, &value) == 1)
        failed = kineto_groups_configure(&reading->trace.groups, value);
    buffer_release(&plain);
    return failed;
}

static int take_value(struct reading *reading, const struct tokens_value *value, struct error *error)
{
    struct raw_json content;
    switch ((enum place)value->path) {
    case OF_EVENTS:
    case OF_LIST:
        return take_event(reading, value, error);
    case OF_GROUPS:
        return kineto_groups_configure(&reading->trace.groups, value->value) ? error_no_memory(error) : 0;
    case OF_JOB:
        if (raw_json_is(value->key, "pg_config") && raw_json_string(value->value, &content) == 0)
            return take_text_of_groups(reading, content) ? error_no_memory(error) : 0;
        break;
    case OF_TRACE:
        if (!raw_json_is(value->key, "baseTimeNanoseconds"))
            return 0;
        break;
    }
    kineto_trace_append(&reading->trace, value->key, value->value);
    return 0;
}

/* Reads everything that can be read. A failure to read does not stop it; it is stored in `later`. */
static int take_all(struct reading *reading, struct error *later, struct error *error)
{
    struct tokens_value value;
    int failed = 0;
    do {
        if (tokens_next(&reading->tokens, &value, later))
            return 0;
        if (value.kind == TOKENS_VALUE)
            failed = take_value(reading, &value, error);
        else if (value.kind == TOKENS_CUT)
            failed = note(reading, "file ends within an event", &value, error);
        else if (value.kind != TOKENS_END)
            failed =
                note(reading, value.kind == TOKENS_DAMAGE ? "unreadable text" : "too long", &value, error);
    } while (!failed && value.kind != TOKENS_END);
    return failed;
}

static int note_number(const struct reading *reading, const char *reason, int64_t number, struct error *error)
{
    char text[64];
    int length = snprintf(text, sizeof text, "%lld", (long long)number);
    return number ? reading->sink->note(reading->sink->context, reason, 0, 0, text, (size_t)length, error)
                  : 0;
}

static int note_numbers(const struct reading *reading, struct error *error)
{
    const struct kineto_trace *trace = &reading->trace;
    return note_number(reading, "too many calls at once", trace->dropped, error) ||
           note_number(reading, "kernels launched before the recording started", trace->from_before, error) ||
           note_number(reading, "kernels of a library in an unknown group", trace->groupless, error);
}

static int read_trace(struct reading *reading, struct error *error)
{
    struct error later = ERROR_INIT;
    if (take_all(reading, &later, error) || kineto_emit(&reading->emitter, 1, error) ||
        note_numbers(reading, error))
        return -1;
    if (!later.depth)
        return 0;
    *error = later;
    return -1;
}

static int kineto_read(struct input *input, const struct format_sink *sink, char *dialect,
                       size_t dialect_bytes, struct error *error)
{
    struct reading reading = {.sink = sink};
    kineto_trace_init(&reading.trace);
    kineto_emitter_init(&reading.emitter, &reading.trace, sink, input_path(input));
    tokens_init(&reading.tokens, input, places);
    int status = read_trace(&reading, error);
    snprintf(dialect, dialect_bytes, "kineto");
    kineto_emitter_release(&reading.emitter);
    kineto_trace_release(&reading.trace);
    return status;
}

static int has(const char *bytes, size_t length, const char *word)
{
    return memmem(bytes, length, word, strlen(word)) != NULL;
}

/* The categories of Kineto's events; NCCL's profiler plugins use others. */
static int has_category(const char *bytes, size_t length)
{
    static const char *const words[] = {"\"cpu_op\"",      "\"kernel\"",          "\"cuda_runtime\"",
                                        "\"cuda_driver\"", "\"user_annotation\"", "\"python_function\"",
                                        "\"gpu_memcpy\"",  "\"hip_runtime\"",     "\"ac2g\""};
    if (!has(bytes, length, "\"cat\""))
        return 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (has(bytes, length, words[i]))
            return 1;
    return 0;
}

static int kineto_sniff(const char *bytes, size_t length, const char *path)
{
    const char *begin = raw_json_skip_space(bytes, bytes + length);
    if (begin == bytes + length || (*begin != '{' && *begin != '['))
        return 0;
    int is_object = *begin == '{';
    if (is_object && has(bytes, length, "\"schemaVersion\"") &&
        (has(bytes, length, "\"deviceProperties\"") || has(bytes, length, "\"traceEvents\"")))
        return 100;
    if (!has_category(bytes, length))
        return 0;
    return is_object && has(bytes, length, "\"traceEvents\"") ? 90 : 50;
}

static const char *kineto_why_nothing(const char *path, uint64_t bytes)
{
    return bytes ? "it has no NCCL operation: the job ran on one GPU, or the profiler was off while the job "
                   "communicated"
                 : NULL;
}

const struct format format_kineto = {
    .name = "kineto",
    .version = 3,
    .description = "traces of PyTorch's profiler (Kineto)",
    .unknown = unknown_event,
    .sniff = kineto_sniff,
    .read = kineto_read,
    .why_nothing = kineto_why_nothing,
};

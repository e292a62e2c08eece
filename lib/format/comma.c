/*
 * The format "comma": JSON lines of CoMMA, Google's profiler plugin. Each object becomes an operation with
 * its proxy operations, or a proxy operation on its own. Times are microseconds since the plugin started.
 * Fields: google/CoMMA, src/event.rs.
 */
#include "base/base.h"
#include "format/format.h"
#include "format/internal.h"
#include "input/input.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct comma_reader {
    const struct format_sink *sink; /* borrowed */
    struct json json;
    int64_t next_ordinal;
    struct proxy_step *steps; /* owned: an array of FORMAT_STEPS_AT_ONCE for the proxy operation being read */
};

/* Returns -1 if memory is out. */
static int comma_reader_init(struct comma_reader *reader, const struct format_sink *sink)
{
    *reader = (struct comma_reader){.sink = sink};
    json_init(&reader->json);
    reader->steps = calloc(FORMAT_STEPS_AT_ONCE, sizeof *reader->steps);
    return reader->steps ? 0 : -1;
}

static void comma_reader_release(struct comma_reader *reader)
{
    json_release(&reader->json);
    free(reader->steps);
}

static int note(const struct comma_reader *reader, const char *reason, int damage, uint64_t offset,
                const char *text, size_t length, struct error *error)
{
    return reader->sink->note(reader->sink->context, reason, damage, offset, text, length, error) ? -1 : 1;
}

/* CoMMA writes one file per process and records neither host nor PID, so the file identifies the process. */
static struct origin origin_of(struct comma_reader *reader, const struct value *object, uint64_t offset)
{
    return (struct origin){.pid = COUNT_UNKNOWN,
                           .communicator_hash = member_hexadecimal(&reader->json, object, "comm_hash"),
                           .rank = member_natural(&reader->json, object, "rank", COUNT_UNKNOWN),
                           .offset = offset};
}

/* When an event ran. An event that was abandoned before its end has `dur` 0; its end is unknown. */
static struct interval_ns interval_of(struct comma_reader *reader, const struct value *object,
                                      const char *begin, const char *lasted)
{
    struct interval_ns interval = {member_moment(&reader->json, object, begin), TIME_UNKNOWN};
    int64_t ns = member_nanoseconds(&reader->json, object, lasted, COUNT_UNKNOWN);
    int is_open = json_is_true(json_member(object, "reclaimed"));
    if (!is_open && interval.begin_ns != TIME_UNKNOWN && ns >= 0 && interval.begin_ns <= INT64_MAX - ns)
        interval.end_ns = interval.begin_ns + ns;
    return interval;
}

/*
 * A send step begins with the wait for the receiver's credit if CoMMA tracks that
 * (NCCL_PROFILER_TRACK_STEP_FIFO_WAIT); it is in the network from `fifo_ready_time` on. Without tracking it
 * begins there. A receive step waits for the network from posting to arrival.
 */
static struct proxy_step step_of(struct comma_reader *reader, const struct value *object)
{
    struct proxy_step step = PROXY_STEP_UNKNOWN;
    int64_t begin_ns = member_moment(&reader->json, object, "start_time");
    int64_t ready_ns = member_moment(&reader->json, object, "fifo_ready_time");
    int64_t end_ns = member_moment(&reader->json, object, "end_time");
    step.step = member_natural(&reader->json, object, "step", COUNT_UNKNOWN);
    if (begin_ns != TIME_UNKNOWN && ready_ns >= begin_ns) {
        step.wait[WAIT_PEER] = (struct interval_ns){begin_ns, ready_ns};
        begin_ns = ready_ns;
    }
    if (begin_ns != TIME_UNKNOWN)
        step.wait[WAIT_NETWORK] = (struct interval_ns){begin_ns, end_ns >= begin_ns ? end_ns : TIME_UNKNOWN};
    return step;
}

static int emit_proxy(const struct comma_reader *reader, struct event *event, struct error *error)
{
    event->proxy.steps = reader->steps;
    if (reader->sink->event(reader->sink->context, event, error))
        return -1;
    event->proxy.steps_recorded = 0;
    event->proxy.continued = 1;
    return 0;
}

static int emit_steps(struct comma_reader *reader, const struct value *steps, struct event *event,
                      struct error *error)
{
    for (const struct value *node = value_begin(steps); node < value_end(steps); node++) {
        if (node->kind != VALUE_DICTIONARY) {
            reader->json.misread = 1;
            continue;
        }
        if (event->proxy.steps_recorded == FORMAT_STEPS_AT_ONCE && emit_proxy(reader, event, error))
            return -1;
        reader->steps[event->proxy.steps_recorded++] = step_of(reader, node);
    }
    return emit_proxy(reader, event, error);
}

/* Bytes of all steps, known only if every step was recorded; receives are sampled by default. */
static int64_t transferred_bytes(struct comma_reader *reader, const struct value *steps, int64_t step_count)
{
    int64_t sum = 0, count = 0;
    for (const struct value *node = value_begin(steps); node < value_end(steps); node++, count++) {
        int64_t bytes = member_natural(&reader->json, node, "size", COUNT_UNKNOWN);
        if (bytes < 0 || __builtin_add_overflow(sum, bytes, &sum))
            return COUNT_UNKNOWN;
    }
    return count > 0 && count == step_count ? sum : COUNT_UNKNOWN;
}

/* Reads a proxy operation. One without a direction cannot be used. */
static int take_proxy(struct comma_reader *reader, const struct value *object, int64_t operation,
                      struct origin origin, struct error *error)
{
    const struct value *is_send = json_member(object, "is_send");
    const struct value *steps = member_array(&reader->json, object, "steps");
    if (!is_send || is_send->kind != VALUE_BOOLEAN)
        return note(reader, "impossible proxy operation", 1, origin.offset, NULL, 0, error);
    struct event event = {.kind = EVENT_PROXY, .origin = origin};
    int64_t step_count = member_natural(&reader->json, object, "n_steps", COUNT_UNKNOWN);
    event.proxy = (struct proxy_operation){
        .operation = operation,
        .direction = json_is_true(is_send) ? DIRECTION_SEND : DIRECTION_RECV,
        .channel = member_natural(&reader->json, object, "channel_id", COUNT_UNKNOWN),
        .peer = member_natural(&reader->json, object, "peer", COUNT_UNKNOWN),
        .step_count = step_count,
        .chunk_bytes = member_natural(&reader->json, object, "chunk_size", COUNT_UNKNOWN),
        .transferred_bytes = transferred_bytes(reader, steps, step_count),
        .schedule = {TIME_UNKNOWN, TIME_UNKNOWN},
        .progress = interval_of(reader, object, "ts", "dur"),
    };
    return emit_steps(reader, steps, &event, error) ? -1 : 1;
}

/* The common interval of an operation's proxy operations. is_pending: the end of one was not seen. */
struct children {
    struct interval_ns interval;
    int is_pending;
};

static struct children children_of(struct comma_reader *reader, const struct value *object)
{
    struct children children = {{TIME_UNKNOWN, TIME_UNKNOWN}, 0};
    const struct value *proxies = member_array(&reader->json, object, "proxyops");
    for (const struct value *node = value_begin(proxies); node < value_end(proxies); node++) {
        struct interval_ns progress = interval_of(reader, node, "ts", "dur");
        if (progress.begin_ns != TIME_UNKNOWN && progress.end_ns != TIME_UNKNOWN)
            interval_widen(&children.interval, progress);
        children.is_pending |= json_is_true(json_member(node, "reclaimed"));
    }
    if (children.interval.end_ns == TIME_UNKNOWN)
        children.interval = interval_of(reader, object, "child_start_ts", "child_dur");
    return children;
}

/*
 * When an operation ran. CoMMA records no kernels: only the proxy operations show the end of an operation, up
 * to milliseconds late. The operation's own record ends with the enqueue, unless proxy operations moved that
 * end.
 */
static void take_times(struct comma_reader *reader, const struct value *object, struct operation *operation)
{
    struct children children = children_of(reader, object);
    int64_t end_ns = children.is_pending ? TIME_UNKNOWN : children.interval.end_ns;
    operation->api = (struct interval_ns){TIME_UNKNOWN, TIME_UNKNOWN};
    operation->enqueue = interval_of(reader, object, "ts", "dur");
    operation->device = (struct interval_ns){TIME_UNKNOWN, end_ns};
    operation->end_source = end_ns == TIME_UNKNOWN ? END_UNKNOWN : END_PROXY;
    if (end_ns != TIME_UNKNOWN && operation->enqueue.end_ns >= end_ns)
        operation->enqueue.end_ns = TIME_UNKNOWN;
    operation->unfinished = children.is_pending || json_is_true(json_member(object, "reclaimed"));
}

static void take_words(struct comma_reader *reader, const struct value *object, struct operation *operation)
{
    const char *name = member_text(&reader->json, object, "name");
    const char *algorithm = member_text(&reader->json, object, "algo");
    const char *protocol = member_text(&reader->json, object, "proto");
    operation->function = name ? function_from_text(name, strlen(name)) : FUNCTION_UNKNOWN;
    operation->algorithm = algorithm ? algorithm_from_text(algorithm, strlen(algorithm)) : ALGORITHM_UNKNOWN;
    operation->protocol = protocol ? protocol_from_text(protocol, strlen(protocol)) : PROTOCOL_UNKNOWN;
}

static int take_operation(struct comma_reader *reader, const struct value *object, int is_pair,
                          uint64_t offset, struct error *error)
{
    struct event event = {.kind = EVENT_OPERATION, .origin = origin_of(reader, object, offset)};
    struct json *json = &reader->json;
    struct operation *operation = &event.operation;
    *operation = (struct operation){
        .ordinal = reader->next_ordinal++,
        .kind = is_pair ? OPERATION_POINT_TO_POINT : OPERATION_COLLECTIVE,
        .sequence = is_pair ? COUNT_UNKNOWN : member_natural(json, object, "seq_num", COUNT_UNKNOWN),
        .count = COUNT_UNKNOWN,
        .bytes = member_natural(json, member_object(json, object, "args"), "size", COUNT_UNKNOWN),
        .root = COUNT_UNKNOWN,
        .peer = is_pair ? member_natural(json, object, "peer", COUNT_UNKNOWN) : COUNT_UNKNOWN,
        .channel_count = COUNT_UNKNOWN,
        .duration_ns = COUNT_UNKNOWN,
    };
    take_words(reader, object, operation);
    take_times(reader, object, operation);
    if (reader->sink->event(reader->sink->context, &event, error))
        return -1;
    const struct value *proxies = member_array(json, object, "proxyops");
    for (const struct value *node = value_begin(proxies); node < value_end(proxies); node++)
        if (take_proxy(reader, node, operation->ordinal, event.origin, error) < 0)
            return -1;
    return 1;
}

static int take_object(struct comma_reader *reader, const char *text, size_t length, uint64_t offset,
                       struct error *error)
{
    const struct value *root = &reader->json.root;
    const char *category = member_text(&reader->json, root, "cat");
    if (category && (strcmp(category, "COLL") == 0 || strcmp(category, "P2P") == 0))
        return take_operation(reader, root, *category == 'P', offset, error);
    /* Such a record names no communicator, and its parent only by a memory address. */
    if (category && strcmp(category, "PROXY") == 0)
        return note(reader, "proxy operation without an operation", 0, offset, NULL, 0, error);
    if (category && strcmp(category, "GROUP") == 0)
        return note(reader, "group of calls", 0, offset, NULL, 0, error);
    return note(reader, "unknown record", 0, offset, text, length, error);
}

/* Hands over what the text contains. Returns 1; 0 if it is not an object of CoMMA; -1 to stop. */
static int comma_take(struct comma_reader *reader, const char *text, size_t length, uint64_t offset,
                      struct error *error)
{
    struct json *json = &reader->json;
    enum json_status status = json_parse(json, text, length);
    if (status == JSON_NO_MEMORY)
        return error_no_memory(error);
    if (status != JSON_OK || json->root.kind != VALUE_DICTIONARY)
        return 0;
    if (take_object(reader, text, length, offset, error) < 0)
        return -1;
    if (json->has_misfit)
        return note(reader, "number out of range", 1, offset, text, length, error);
    return json->misread ? note(reader, "unreadable value", 1, offset, text, length, error) : 1;
}

/* Keys are sorted: an operation begins with "args", a proxy operation or a group with "cat". */
static const char first_key[] = "\"args\"";
static const char *const other_keys[] = {"\"cat\"", NULL};

static int take(void *context, const char *text, size_t length, uint64_t offset, struct error *error)
{
    return comma_take(context, text, length, offset, error);
}

/* CoMMA writes during the job: if the last line is incomplete, the job is still running or was killed. */
static int take_cut(void *context, const char *text, size_t length, uint64_t offset, struct error *error)
{
    const struct comma_reader *reader = context;
    return reader->sink->note(reader->sink->context, FORMAT_NOTE_OPEN, 0, offset, text, length, error);
}

static int comma_read(struct input *input, const struct format_sink *sink, char *dialect,
                      size_t dialect_bytes, struct error *error)
{
    struct comma_reader reader;
    struct objects_end end = {.offset = 0};
    struct objects objects = {.first_key = first_key,
                              .other_keys = other_keys,
                              .context = &reader,
                              .object = take,
                              .cut = take_cut,
                              .sink = sink};
    snprintf(dialect, dialect_bytes, "comma");
    int status = comma_reader_init(&reader, sink) ? error_no_memory(error)
                                                  : objects_read(&objects, input, &end, error);
    comma_reader_release(&reader);
    return status || end.reading_failed ? -1 : 0;
}

enum { SURE = 90 };

/*
 * Only this dialect has this key for the communicator. Programs and pages that mention it are not CoMMA
 * files.
 */
static int comma_sniff(const char *bytes, size_t length, const char *path)
{
    (void)path;
    return sniff_find(bytes, length, bytes, "\"comm_hash\"", first_key) &&
                   sniff_find(bytes, length, bytes, "\"ph\"", first_key) &&
                   sniff_find(bytes, length, bytes, "\"cat\"", first_key)
               ? SURE
               : 0;
}

const struct format format_comma = {
    .name = "comma",
    .version = 1,
    .description = "JSON lines of CoMMA, Google's NCCL profiler plugin",
    .unknown = "unknown record",
    .sniff = comma_sniff,
    .read = comma_read,
};

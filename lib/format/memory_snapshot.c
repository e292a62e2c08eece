/*
 * The format "memory_snapshot": which memory PyTorch's CUDA caching allocator had from the driver, and when.
 * The history gives segments that were allocated and freed; the snapshot lists those that existed when it was
 * taken. Formats: torch/csrc/cuda/memory_snapshot.cpp.
 */
#include "base/base.h"
#include "format/format.h"
#include "format/internal.h"
#include "input/input.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct history_segment {
    uint64_t address;
    int64_t bytes;
    struct interval_ns alive; /* TIME_UNKNOWN: before the beginning of the history; after the snapshot */
    int64_t device;           /* COUNT_UNKNOWN */
    int is_expandable;
};

struct history {
    const struct format_sink *sink;
    struct history_segment *segments; /* owned: from the history */
    size_t count;
    size_t capacity;
    struct history_segment *listed; /* owned: from the snapshot's list */
    size_t listed_count;
    size_t listed_capacity;
    struct map open;   /* address -> index in `segments`, of those not yet freed */
    int64_t latest_ns; /* latest time in the history; TIME_UNKNOWN */
    int is_expandable; /* a setting of the allocator that holds for all its segments */
    int has_settings;
};

static void history_init(struct history *history, const struct format_sink *sink)
{
    *history = (struct history){.sink = sink, .latest_ns = TIME_UNKNOWN};
    map_init(&history->open);
}

static void history_release(struct history *history)
{
    free(history->segments);
    free(history->listed);
    map_release(&history->open);
}

static int note(const struct history *history, const char *reason, int damage, uint64_t offset,
                struct error *error)
{
    return history->sink->note(history->sink->context, reason, damage, offset, NULL, 0, error);
}

/*
 * Reads an address and a size with these keys; -1 if they are missing or invalid. Device addresses are below
 * 2^63.
 */
static int read_range(const struct value *from, const char *address_key, const char *size_key,
                      struct history_segment *segment)
{
    int64_t address, bytes;
    if (value_int64(value_member(from, address_key), &address) ||
        value_int64(value_member(from, size_key), &bytes) || address <= 0 || bytes <= 0)
        return -1;
    *segment = (struct history_segment){.address = (uint64_t)address,
                                        .bytes = bytes,
                                        .alive = {TIME_UNKNOWN, TIME_UNKNOWN},
                                        .device = COUNT_UNKNOWN};
    return 0;
}

static int add(struct history_segment **items, size_t *count, size_t *capacity,
               const struct history_segment *segment)
{
    if (array_reserve((void **)items, capacity, *count + 1, sizeof **items))
        return -1;
    (*items)[(*count)++] = *segment;
    return 0;
}

/* Adds an item of "segments". Returns -1 if the sink failed or memory is out. */
static int allocator_history_add_segment(struct history *history, const struct value *segment,
                                         uint64_t offset, struct error *error)
{
    struct history_segment listed;
    const struct value *expandable = value_member(segment, "is_expandable");
    if (read_range(segment, "address", "total_size", &listed))
        return note(history, "segment without address and size", 1, offset, error);
    if (value_int64(value_member(segment, "device"), &listed.device) || listed.device < 0)
        listed.device = COUNT_UNKNOWN;
    listed.is_expandable = expandable && expandable->kind == VALUE_BOOLEAN && expandable->integer;
    return add(&history->listed, &history->listed_count, &history->listed_capacity, &listed)
               ? error_no_memory(error)
               : 0;
}

/* Microseconds since 1970. */
static int64_t time_of(const struct value *entry)
{
    int64_t time_us;
    return value_int64(value_member(entry, "time_us"), &time_us) || time_us <= 0 ||
                   time_us > NUMBER_MOST_NS / 1000
               ? TIME_UNKNOWN
               : time_us * 1000;
}

static struct map_key key_of(uint64_t address)
{
    return (struct map_key){{address}};
}

/* Ends the segment that begins at this address. */
static int close_at(struct history *history, uint64_t address, int64_t at_ns)
{
    const int64_t *open = map_get(&history->open, key_of(address));
    if (!open)
        return 0;
    history->segments[*open].alive.end_ns = at_ns;
    map_remove(&history->open, key_of(address));
    return 1;
}

static int begin_at(struct history *history, struct history_segment *segment, int64_t at_ns)
{
    close_at(history, segment->address, at_ns);
    segment->alive.begin_ns = at_ns;
    return map_put(&history->open, key_of(segment->address), (int64_t)history->count, NULL) &&
                   !add(&history->segments, &history->count, &history->capacity, segment)
               ? 0
               : -1;
}

/* A segment whose begin is not in the history was there before it. */
static int end_at(struct history *history, struct history_segment *segment, int64_t at_ns)
{
    if (close_at(history, segment->address, at_ns))
        return 0;
    segment->alive.end_ns = at_ns;
    return add(&history->segments, &history->count, &history->capacity, segment);
}

static int allocator_history_add_event(struct history *history, const struct value *entry, uint64_t offset,
                                       struct error *error)
{
    struct history_segment segment;
    const struct value *action = value_member(entry, "action");
    int64_t at_ns = time_of(entry);
    int begins = value_is(action, "segment_alloc"), ends = value_is(action, "segment_free");
    int maps = value_is(action, "segment_map"), unmaps = value_is(action, "segment_unmap");
    if (at_ns > history->latest_ns)
        history->latest_ns = at_ns;
    if (!begins && !ends && !maps && !unmaps)
        return note(history, "allocation within a segment", 0, offset, error);
    if (read_range(entry, "addr", "size", &segment) || at_ns == TIME_UNKNOWN)
        return note(history, "segment without address, size and time", 1, offset, error);
    segment.is_expandable = maps || unmaps;
    int failed = begins || maps ? begin_at(history, &segment, at_ns) : end_at(history, &segment, at_ns);
    return failed ? error_no_memory(error) : 0;
}

static void history_set(struct history *history, const struct value *settings)
{
    const struct value *expandable = value_member(settings, "expandable_segments");
    history->has_settings |= settings && settings->kind == VALUE_DICTIONARY;
    history->is_expandable |= expandable && expandable->kind == VALUE_BOOLEAN && expandable->integer;
}

/* Whether nothing of a snapshot was found. */
static int history_is_empty(const struct history *history)
{
    return !history->count && !history->listed_count && history->latest_ns == TIME_UNKNOWN &&
           !history->has_settings;
}

static int emit_segment(const struct history *history, const struct history_segment *segment,
                        int64_t global_rank, struct error *error)
{
    int is_expandable = segment->is_expandable || history->is_expandable;
    struct event event = {
        .kind = EVENT_REGISTRATION,
        .origin = {.pid = COUNT_UNKNOWN, .rank = COUNT_UNKNOWN},
        .registration = {.kind = is_expandable ? REGISTRATION_EXPANDABLE : REGISTRATION_SEGMENT,
                         .address = segment->address,
                         .bytes = segment->bytes,
                         .number = COUNT_UNKNOWN,
                         .alive = segment->alive,
                         .device = segment->device,
                         .global_rank = global_rank}};
    return history->sink->event(history->sink->context, &event, error);
}

static int emit_snapshot(const struct history *history, int64_t global_rank, struct error *error)
{
    struct event event = {.kind = EVENT_REGISTRATION,
                          .origin = {.pid = COUNT_UNKNOWN, .rank = COUNT_UNKNOWN},
                          .registration = {.kind = REGISTRATION_SNAPSHOT,
                                           .number = COUNT_UNKNOWN,
                                           .alive = {TIME_UNKNOWN, history->latest_ns},
                                           .device = COUNT_UNKNOWN,
                                           .global_rank = global_rank}};
    return history->sink->event(history->sink->context, &event, error);
}

/* Hands over all segments, as those of one rank. */
static int history_emit(const struct history *history, int64_t global_rank, struct error *error)
{
    int failed = emit_snapshot(history, global_rank, error);
    for (size_t i = 0; !failed && i < history->listed_count; i++) {
        const struct history_segment *listed = &history->listed[i];
        const int64_t *open = map_get(&history->open, key_of(listed->address));
        if (open) {
            history->segments[*open].device = listed->device;
            history->segments[*open].is_expandable |= listed->is_expandable;
        } else {
            failed = emit_segment(history, listed, global_rank, error);
        }
    }
    for (size_t i = 0; !failed && i < history->count; i++)
        failed = emit_segment(history, &history->segments[i], global_rank, error);
    return failed ? -1 : 0;
}

/*
 * A history of 100,000 allocations with stacks is shorter. Parsed values take at most VALUES_BYTES_MOST
 * besides.
 */
enum { SNAPSHOT_BYTES_MOST = 256 << 20, VALUES_BYTES_MOST = 512 << 20, VALUES_BYTES_LEAST = 4 << 20 };

/*
 * Words that occur only in snapshots: torch writes the segments first, with more members than users usually
 * keep.
 */
static int sniff(const char *bytes, size_t length, const char *path)
{
    (void)path;
    size_t at = 0;
    while (at < length && sniff_is_space(bytes[at]))
        at++;
    int is_json = at < length && (bytes[at] == '{' || bytes[at] == '[');
    if (!is_json && !sniff_is_pickle(bytes, length))
        return 0;
    const struct text text = {bytes, length};
    int has_segments = text_contains(text, is_json ? "\"total_size\"" : "total_size") &&
                       text_contains(text, is_json ? "\"segment" : "segment");
    int has_traces = text_contains(text, is_json ? "\"device_traces\"" : "device_traces");
    return has_segments ? 90 : has_traces ? 80 : 0;
}

/* State while a snapshot is read. */
struct reading {
    struct history history;
    const struct format_sink *sink;
    size_t left; /* how many more values may be read, as a pickle can refer many times to one value */
};

static int note_damage(const struct reading *reading, uint64_t offset, const char *what, size_t length,
                       struct error *error)
{
    return reading->sink->note(reading->sink->context, "unreadable part of the snapshot", 1, offset, what,
                               length, error);
}

static uint64_t offset_of(const struct value *value)
{
    return value->kind == VALUE_DICTIONARY || value->kind == VALUE_LIST ? value->items->offset : 0;
}

static int take_list(struct reading *reading, const struct value_items *list,
                     int (*take)(struct history *, const struct value *, uint64_t, struct error *),
                     struct error *error)
{
    int failed = 0;
    for (size_t i = 0; list && !failed && i < list->count; i++) {
        if (reading->left == 0)
            return note_damage(reading, list->offset, NULL, 0, error);
        reading->left--;
        failed = take(&reading->history, &list->items[i], offset_of(&list->items[i]), error);
    }
    return failed;
}

/* Older versions wrote only the list of segments. */
static int take_root(struct reading *reading, const struct value *root, struct error *error)
{
    const struct value *segments = root->kind == VALUE_LIST ? root : value_member(root, "segments");
    const struct value_items *devices = value_list(value_member(root, "device_traces"));
    history_set(&reading->history, value_member(root, "allocator_settings"));
    int failed = take_list(reading, value_list(segments), allocator_history_add_segment, error);
    for (size_t i = 0; devices && !failed && i < devices->count; i++)
        failed = take_list(reading, value_list(&devices->items[i]), allocator_history_add_event, error);
    return failed;
}

static int read_pickle(struct reading *reading, struct input *input, struct error *error)
{
    struct buffer bytes = BUFFER_INIT;
    struct values values;
    struct value root;
    struct unpickle_damage damage = {.what = NULL};
    struct error failure = ERROR_INIT;
    int cut = input_whole(input, SNAPSHOT_BYTES_MOST, &bytes, &failure);
    int failed = cut && failure.is_no_memory;
    size_t most = bytes.length < VALUES_BYTES_MOST / UNPICKLE_BYTES_A_BYTE
                      ? bytes.length * UNPICKLE_BYTES_A_BYTE
                      : VALUES_BYTES_MOST;
    reading->left = bytes.length;
    values_init(&values, VALUES_BYTES_LEAST + most);
    failed = failed || unpickle(&values, bytes.data, bytes.length, &root, &damage, &failure) ||
             take_root(reading, &root, &failure) ||
             (!cut && damage.what &&
              note_damage(reading, damage.offset, damage.what, strlen(damage.what), &failure));
    values_release(&values);
    buffer_release(&bytes);
    if (failed || cut)
        *error = failure;
    return failed || cut ? -1 : 0;
}

enum { PATH_SEGMENT, PATH_ENTRY, PATH_SETTINGS, PATH_ITEM };

static int take_value(struct reading *reading, const struct tokens_value *token, const struct value *value,
                      struct error *error)
{
    if (token->path == PATH_ENTRY)
        return allocator_history_add_event(&reading->history, value, token->offset, error);
    if (token->path != PATH_SETTINGS)
        return allocator_history_add_segment(&reading->history, value, token->offset, error);
    history_set(&reading->history, value);
    return 0;
}

static int take_token(struct reading *reading, const struct tokens_value *token, struct error *error)
{
    struct values values;
    struct value value;
    if (token->kind != TOKENS_VALUE)
        return note_damage(reading, token->offset, token->value.text, token->value.length, error);
    values_init(&values, VALUES_BYTES_LEAST + token->value.length * UNPICKLE_BYTES_A_BYTE);
    int status =
        json_to_values(&values, token->value.text, token->value.length, token->offset, &value, error);
    int failed = status < 0;
    if (status > 0)
        failed = note_damage(reading, token->offset, token->value.text, token->value.length, error);
    else if (!failed)
        failed = take_value(reading, token, &value, error);
    values_release(&values);
    return failed ? -1 : 0;
}

static int read_json(struct reading *reading, struct input *input, struct error *error)
{
    static const char *const paths[] = {"segments[]", "device_traces[][]", "allocator_settings", "[]", NULL};
    struct tokens tokens;
    struct tokens_value token = {.kind = TOKENS_VALUE};
    tokens_init(&tokens, input, paths);
    for (;;) {
        if (tokens_next(&tokens, &token, error))
            return -1;
        if (token.kind == TOKENS_END)
            return 0;
        if (take_token(reading, &token, error))
            return -1;
    }
}

/* What was read before reading failed is handed over. */
static int snapshot_read(struct input *input, const struct format_sink *sink, char *dialect,
                         size_t dialect_bytes, struct error *error)
{
    struct reading reading = {.sink = sink};
    struct error failure = ERROR_INIT;
    const char *bytes;
    int64_t length = input_peek(input, &bytes, 4, error);
    if (length < 0)
        return -1;
    int pickled = sniff_is_pickle(bytes, (size_t)length);
    snprintf(dialect, dialect_bytes, "memory-snapshot");
    history_init(&reading.history, sink);
    int cut = pickled ? read_pickle(&reading, input, &failure) : read_json(&reading, input, &failure);
    int failed = cut && failure.is_no_memory;
    if (!failed && !history_is_empty(&reading.history) &&
        history_emit(&reading.history, rank_named_in_path(input_path(input)), error))
        failed = 1;
    else if (cut && error)
        *error = failure;
    history_release(&reading.history);
    return failed || cut ? -1 : 0;
}

const struct format format_memory_snapshot = {
    .name = "memory-snapshot",
    .version = 1,
    .description = "snapshots of PyTorch's CUDA allocator, pickled or JSON",
    .unknown = "unknown record",
    .sniff = sniff,
    .read = snapshot_read,
};

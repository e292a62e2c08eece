#include "format/memory_snapshot/history.h"

#include "base/array.h"
#include "input/number.h"

#include <stdlib.h>
#include <string.h>

void history_init(struct history *history, const struct format_sink *sink)
{
    *history = (struct history){.sink = sink, .latest_ns = TIME_UNKNOWN};
    map_init(&history->open);
}

void history_release(struct history *history)
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

/* Address and size under these keys; -1 where they are none. Addresses of devices are below 2^63. */
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

int history_list(struct history *history, const struct value *segment, uint64_t offset, struct error *error)
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

/* Ends the segment that began there. */
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

/* What is not told to have begun was there before the history. */
static int end_at(struct history *history, struct history_segment *segment, int64_t at_ns)
{
    if (close_at(history, segment->address, at_ns))
        return 0;
    segment->alive.end_ns = at_ns;
    return add(&history->segments, &history->count, &history->capacity, segment);
}

int history_tell(struct history *history, const struct value *entry, uint64_t offset, struct error *error)
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

void history_set(struct history *history, const struct value *settings)
{
    const struct value *expandable = value_member(settings, "expandable_segments");
    history->has_settings |= settings && settings->kind == VALUE_DICTIONARY;
    history->is_expandable |= expandable && expandable->kind == VALUE_BOOLEAN && expandable->integer;
}

int history_is_empty(const struct history *history)
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

int history_emit(const struct history *history, int64_t global_rank, struct error *error)
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

#include "format/flight_recorder/emit.h"

#include "base/array.h"
#include "base/buffer.h"
#include "model/communicator_hash.h"

#include <stdlib.h>

/* A group as a communicator. */
struct seat {
    struct buffer name; /* owned */
    struct buffer description;
    uint64_t hash;
    int64_t rank; /* in it; COUNT_UNKNOWN */
    int64_t size; /* 0: not said */
};

struct emission {
    const struct dump *dump;
    const struct format_sink *sink;
    int64_t rank; /* global; COUNT_UNKNOWN */
    struct seat *seats;
};

static struct origin origin_of(const struct emission *emission)
{
    (void)emission;
    return (struct origin){.pid = COUNT_UNKNOWN, .rank = COUNT_UNKNOWN};
}

static struct origin origin_in(const struct emission *emission, size_t group)
{
    struct origin origin = origin_of(emission);
    const struct seat *seat = &emission->seats[group];
    origin.communicator_hash = seat->hash;
    origin.communicator_is_named = 1;
    origin.communicator_name = seat->name.data;
    origin.communicator_size = seat->size;
    origin.rank = seat->rank;
    return origin;
}

static int hand_over(const struct emission *emission, const struct event *event, struct error *error)
{
    return emission->sink->event(emission->sink->context, event, error);
}

static int append_value(struct buffer *buffer, const struct value *value)
{
    return value ? buffer_append(buffer, value->text, value->length) : 0;
}

/*
 * Before torch 2.3 nothing tells which group is which on another rank: number 0 is the default group, of all
 * ranks; the others are counted by each process for itself.
 */
static int name_unnamed(struct seat *seat, const struct dump_group *group, int64_t rank)
{
    if (group->pg_id == 0)
        return buffer_append_text(&seat->name, "default_pg");
    return buffer_printf(&seat->name, "group %lld of rank %lld", (long long)group->pg_id, (long long)rank);
}

static int64_t rank_in(const struct dump_group *group, int64_t rank)
{
    for (size_t i = 0; i < group->member_count; i++)
        if (group->members[i] == rank)
            return (int64_t)i;
    return group->own_rank != COUNT_UNKNOWN || group->members ? group->own_rank : rank;
}

static int take_seat(struct seat *seat, const struct dump_group *group, int64_t rank)
{
    int failed = group->name ? append_value(&seat->name, group->name) || buffer_append(&seat->name, "", 0)
                             : name_unnamed(seat, group, rank);
    if (failed || append_value(&seat->description, group->description))
        return -1;
    seat->hash = communicator_hash_of(seat->name.data, group->members, group->member_count);
    seat->rank = rank_in(group, rank);
    seat->size = (int64_t)group->member_count;
    return 0;
}

static int emit_process(const struct emission *emission, struct error *error)
{
    struct event event = {.kind = EVENT_PROCESS, .origin = origin_of(emission)};
    event.process = PROCESS_FACTS_NONE;
    event.process.global_rank = emission->rank;
    return hand_over(emission, &event, error);
}

static int emit_group(const struct emission *emission, size_t at, struct error *error)
{
    const struct dump_group *group = &emission->dump->groups[at];
    struct event event = {.kind = EVENT_COMMUNICATOR, .origin = origin_in(emission, at)};
    const struct buffer *description = &emission->seats[at].description;
    event.communicator.members = group->members;
    event.communicator.member_count = group->member_count;
    event.communicator.description = description->length ? description->data : NULL;
    return hand_over(emission, &event, error);
}

/* torch has -1 where there was none yet. */
static int64_t status_number(int64_t number)
{
    return number < 0 ? GROUP_STATUS_NONE : number;
}

/* Where a group has both collectives and sends, nobody knows which of them torch counted last. */
static int emit_status(const struct emission *emission, size_t at, struct error *error)
{
    const struct dump_group *group = &emission->dump->groups[at];
    struct event event = {.kind = EVENT_GROUP_STATUS, .origin = origin_in(emission, at)};
    const struct buffer *description = &emission->seats[at].description;
    if (!group->has_status || (group->has_collectives && group->has_pairs))
        return 0;
    event.group_status = (struct group_status){
        .name = emission->seats[at].name.data,
        .description = description->length ? description->data : NULL,
        .enqueued = status_number(group->last_enqueued),
        .started = status_number(group->last_started),
        .completed = dump_group_tells_no_ends(group) ? COUNT_UNKNOWN : status_number(group->last_completed),
        .timed_out = COUNT_UNKNOWN,
        .at_ns = TIME_UNKNOWN};
    return hand_over(emission, &event, error);
}

/* The size that NCCL gets: of an AlltoAll, whose whole buffer is recorded, what one rank gets of it. */
static int64_t bytes_of(const struct dump *dump, const struct dump_entry *entry)
{
    size_t ranks = dump->groups[entry->group].member_count;
    if (entry->function != FUNCTION_ALL_TO_ALL || entry->bytes < 0)
        return entry->bytes;
    return ranks ? entry->bytes / (int64_t)ranks : COUNT_UNKNOWN;
}

static struct operation operation_of(const struct dump *dump, const struct dump_entry *entry, int64_t ordinal)
{
    int is_open = entry->state != DUMP_COMPLETED;
    return (struct operation){
        .ordinal = ordinal,
        .kind = entry->is_pair ? OPERATION_POINT_TO_POINT : OPERATION_COLLECTIVE,
        .function = entry->function,
        .sequence = entry->is_pair ? entry->pair_sequence : entry->collective_sequence,
        .count = entry->count,
        .datatype = entry->datatype,
        .bytes = bytes_of(dump, entry),
        .root = COUNT_UNKNOWN,
        .peer = entry->is_pair ? entry->peer : COUNT_UNKNOWN,
        .channel_count = COUNT_UNKNOWN,
        .api = {entry->called_ns, TIME_UNKNOWN},
        .enqueue = {entry->called_ns, TIME_UNKNOWN},
        .device = {is_open && entry->state == DUMP_STARTED ? entry->started_ns : TIME_UNKNOWN, TIME_UNKNOWN},
        .duration_ns = entry->duration_ns,
        .unfinished = is_open,
        .source = entry->source >= 0 ? intern_text(&dump->sources, entry->source) : NULL};
}

static int emit_calls(const struct emission *emission, struct error *error)
{
    const struct dump *dump = emission->dump;
    struct event event = {.kind = EVENT_OPERATION};
    int64_t ordinal = 0;
    int32_t group = -1;
    for (size_t i = 0; i < dump->entry_count; i++) {
        const struct dump_entry *entry = &dump->entries[i];
        if (entry->is_left_out)
            continue;
        if (entry->group != group)
            event.origin = origin_in(emission, (size_t)entry->group);
        group = entry->group;
        event.origin.offset = entry->offset;
        event.operation = operation_of(dump, entry, ordinal++);
        if (hand_over(emission, &event, error))
            return -1;
    }
    return 0;
}

int dump_emit_failure(const struct dump *dump, int64_t rank, const struct format_sink *sink,
                      struct error *error)
{
    struct emission emission = {.dump = dump, .sink = sink, .rank = rank};
    struct event event = {.kind = EVENT_WARNING, .origin = origin_of(&emission)};
    struct buffer text = BUFFER_INIT;
    int failed = buffer_append_text(&text, "no dump: ") || append_value(&text, dump->no_dump)
                     ? error_no_memory(error)
                     : emit_process(&emission, error);
    event.warning = (struct warning){.kind = WARNING_NO_DUMP,
                                     .at_ns = TIME_UNKNOWN,
                                     .gpu = COUNT_UNKNOWN,
                                     .status = COUNT_UNKNOWN,
                                     .text = text.data};
    failed = failed || hand_over(&emission, &event, error);
    buffer_release(&text);
    return failed ? -1 : 0;
}

int dump_emit(const struct dump *dump, int64_t rank, const struct format_sink *sink, struct error *error)
{
    struct emission emission = {.dump = dump,
                                .sink = sink,
                                .rank = rank,
                                .seats = array_new(dump->group_count + 1, sizeof *emission.seats)};
    int failed = emission.seats ? 0 : error_no_memory(error);
    for (size_t i = 0; !failed && i < dump->group_count; i++)
        if (take_seat(&emission.seats[i], &dump->groups[i], rank))
            failed = error_no_memory(error);
    failed = failed || emit_process(&emission, error);
    for (size_t i = 0; !failed && i < dump->group_count; i++)
        failed = emit_group(&emission, i, error) || emit_status(&emission, i, error);
    failed = failed || emit_calls(&emission, error);
    for (size_t i = 0; emission.seats && i < dump->group_count; i++) {
        buffer_release(&emission.seats[i].name);
        buffer_release(&emission.seats[i].description);
    }
    free(emission.seats);
    return failed ? -1 : 0;
}

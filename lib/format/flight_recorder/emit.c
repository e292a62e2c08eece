/* Makes events from a Flight Recorder dump: the process, its communicators, their progress, and the calls. */
#include "base/base.h"
#include "format/flight_recorder/flight_recorder.h"
#include "format/format.h"
#include "input/input.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

/* A group as a communicator. */
struct member {
    struct buffer unnamed; /* owned: the name given to a group without one */
    const char *name;      /* `unnamed`, or the name in the dump */
    const char *description;
    struct rank_list members;
    uint64_t hash;
    int64_t rank;   /* rank in the group; COUNT_UNKNOWN */
    int is_refused; /* the group exceeds the limit on what is written about groups */
};

struct emission {
    const struct dump *dump;
    const struct format_sink *sink;
    int64_t rank; /* global; COUNT_UNKNOWN */
    struct member *member_list;
    size_t left; /* bytes of names and lists that may still be written */
};

static struct origin origin_of(const struct emission *emission)
{
    (void)emission;
    return (struct origin){.pid = COUNT_UNKNOWN, .rank = COUNT_UNKNOWN};
}

static struct origin origin_in(const struct emission *emission, size_t group)
{
    struct origin origin = origin_of(emission);
    const struct member *member = &emission->member_list[group];
    origin.communicator_hash = member->hash;
    origin.communicator_is_named = 1;
    origin.communicator_name = member->name;
    origin.communicator_size = (int64_t)member->members.count;
    origin.rank = member->rank;
    return origin;
}

static int hand_over(const struct emission *emission, const struct event *event, struct error *error)
{
    return emission->sink->event(emission->sink->context, event, error);
}

/*
 * Before torch 2.3 groups cannot be matched between ranks: number 0 is the default group, of all ranks; the
 * others are numbered by each process separately.
 */
static int name_unnamed(struct member *member, const struct dump_group *group, int64_t rank)
{
    int failed = group->pg_id == 0 ? buffer_append_text(&member->unnamed, "default_pg")
                                   : buffer_printf(&member->unnamed, "group %lld of rank %lld",
                                                   (long long)group->pg_id, (long long)rank);
    member->name = member->unnamed.data;
    return failed;
}

static int64_t rank_in(const struct dump_group *group, const struct rank_list *members, int64_t rank)
{
    for (size_t i = 0; i < members->count; i++)
        if (members->ranks[i] == rank)
            return (int64_t)i;
    return group->own_rank != COUNT_UNKNOWN || members->ranks ? group->own_rank : rank;
}

static const char *text_of(const struct dump *dump, int32_t number)
{
    return number < 0 ? NULL : intern_text(&dump->shared.texts, number);
}

/* Names and lists are stored once in the dump but written for each group. */
static int is_within(struct emission *emission, const struct member *member)
{
    size_t bytes = strlen(member->name) + (member->description ? strlen(member->description) : 0) +
                   member->members.count * sizeof *member->members.ranks;
    if (bytes > emission->left)
        return 0;
    emission->left -= bytes;
    return 1;
}

static int take_communicator_member(struct emission *emission, size_t at)
{
    const struct dump_group *group = &emission->dump->groups[at];
    struct member *member = &emission->member_list[at];
    member->name = text_of(emission->dump, group->name);
    if (!member->name && name_unnamed(member, group, emission->rank))
        return -1;
    member->description = text_of(emission->dump, group->description);
    member->members = dump_members(emission->dump, group);
    member->is_refused = !is_within(emission, member);
    if (member->is_refused)
        return 0;
    member->hash = communicator_hash_of(member->name, member->members.ranks, member->members.count);
    member->rank = rank_in(group, &member->members, emission->rank);
    return 0;
}

static int refuse(const struct emission *emission, const char *reason, uint64_t offset, struct error *error)
{
    return emission->sink->note(emission->sink->context, reason, 1, offset, NULL, 0, error);
}

/* NULL for an empty text. */
static const char *said(const char *description)
{
    return description && *description ? description : NULL;
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
    const struct member *member = &emission->member_list[at];
    struct event event = {.kind = EVENT_COMMUNICATOR, .origin = origin_in(emission, at)};
    event.communicator.members = member->members.ranks;
    event.communicator.member_count = member->members.count;
    event.communicator.description = said(member->description);
    return hand_over(emission, &event, error);
}

/* torch uses -1 for "none yet". */
static int64_t status_number(int64_t number)
{
    return number < 0 ? GROUP_STATUS_NONE : number;
}

/* If a group has both collectives and sends, it is unknown which of them torch counted last. */
static int emit_status(const struct emission *emission, size_t at, struct error *error)
{
    const struct dump_group *group = &emission->dump->groups[at];
    struct event event = {.kind = EVENT_GROUP_STATUS, .origin = origin_in(emission, at)};
    const struct member *member = &emission->member_list[at];
    if (!group->has_status || (group->has_collectives && group->has_pairs))
        return 0;
    event.group_status = (struct group_status){.name = member->name,
                                               .description = said(member->description),
                                               .enqueued = status_number(group->last_enqueued),
                                               .started = status_number(group->last_started),
                                               .completed = dump_group_lacks_completions(group)
                                                                ? COUNT_UNKNOWN
                                                                : status_number(group->last_completed),
                                               .timed_out = COUNT_UNKNOWN,
                                               .at_ns = TIME_UNKNOWN};
    return hand_over(emission, &event, error);
}

/* The size that NCCL gets. For an AlltoAll, whose whole buffer is recorded, it is one rank's part. */
static int64_t bytes_of(const struct dump *dump, const struct dump_entry *entry)
{
    size_t ranks = dump_members(dump, &dump->groups[entry->group]).count;
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
        if (emission->member_list[entry->group].is_refused) {
            if (refuse(emission, "call of a group over the expansion limit", entry->offset, error))
                return -1;
            continue;
        }
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
    int failed = buffer_append_text(&text, "no dump: ") ||
                         buffer_append(&text, dump->no_dump->text, dump->no_dump->length)
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

static int emit_groups(const struct emission *emission, struct error *error)
{
    for (size_t i = 0; i < emission->dump->group_count; i++)
        if (emission->member_list[i].is_refused
                ? refuse(emission, "group over the expansion limit", 0, error)
                : emit_group(emission, i, error) || emit_status(emission, i, error))
            return -1;
    return 0;
}

int dump_emit(const struct dump *dump, int64_t rank, size_t bytes, const struct format_sink *sink,
              struct error *error)
{
    struct emission emission = {.dump = dump,
                                .sink = sink,
                                .rank = rank,
                                .member_list = array_new(dump->group_count + 1, sizeof *emission.member_list),
                                .left = (size_t)format_expansion_limit(bytes)};
    int failed = emission.member_list ? 0 : error_no_memory(error);
    for (size_t i = 0; !failed && i < dump->group_count; i++)
        if (take_communicator_member(&emission, i))
            failed = error_no_memory(error);
    failed = failed || emit_process(&emission, error) || emit_groups(&emission, error) ||
             emit_calls(&emission, error);
    for (size_t i = 0; emission.member_list && i < dump->group_count; i++)
        buffer_release(&emission.member_list[i].unnamed);
    free(emission.member_list);
    return failed ? -1 : 0;
}

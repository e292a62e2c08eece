/*
 * Communicators that NCCL's log does not name: their calls, held until the end of the log, and which members
 * belong together.
 */
#include "base/base.h"
#include "format/format.h"
#include "format/internal.h"
#include "format/nccl/nccl.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Calls beyond these are only counted, and no members are matched. */
enum { HELD_MOST = 1 << 19 };

void unnamed_init(struct unnamed_list *list)
{
    *list = (struct unnamed_list){.items = NULL};
    map_init(&list->by_address);
}

void unnamed_release(struct unnamed_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        buffer_release(&list->items[i].example);
    map_release(&list->by_address);
    free(list->items);
    free(list->calls);
}

static struct unnamed *of_address(struct unnamed_list *list, const struct said *said, uint64_t address)
{
    int added;
    if (array_reserve((void **)&list->items, &list->capacity, list->count + 1, sizeof *list->items))
        return NULL;
    int64_t *number = map_put(&list->by_address, (struct map_key){{(uint64_t)said->source_process, address}},
                              (int64_t)list->count, &added);
    if (!number)
        return NULL;
    if (added)
        list->items[list->count++] = (struct unnamed){.source_process = said->source_process,
                                                      .address = address,
                                                      .ranks = COUNT_UNKNOWN,
                                                      .rank = COUNT_UNKNOWN,
                                                      .global_rank = said->prefix_rank,
                                                      .device = said->device,
                                                      .offset = said->offset};
    return &list->items[*number];
}

int unnamed_take_init(struct unnamed_list *list, const struct said *said, const struct message_init *init)
{
    struct unnamed *unnamed = of_address(list, said, init->communicator);
    if (!unnamed)
        return -1;
    unnamed->is_old = 1;
    unnamed->ranks = init->ranks;
    unnamed->rank = init->rank;
    unnamed->device = init->device == COUNT_UNKNOWN ? unnamed->device : init->device;
    unnamed->init_lines++;
    return 0;
}

static int hold(struct unnamed_list *list, const struct said *said, const struct message_call *call,
                size_t unnamed)
{
    if (list->call_count >= HELD_MOST) {
        list->has_more = 1;
        return 0;
    }
    if (array_reserve((void **)&list->calls, &list->call_capacity, list->call_count + 1, sizeof *list->calls))
        return -1;
    list->calls[list->call_count++] =
        (struct unnamed_call){unnamed, said->tid, said->offset, said->at_ns, *call};
    return 0;
}

int unnamed_take_call(struct unnamed_list *list, const struct said *said, const struct message_call *call)
{
    struct unnamed *unnamed = of_address(list, said, call->communicator);
    if (!unnamed)
        return -1;
    unnamed->ranks = unnamed->ranks == COUNT_UNKNOWN ? call->ranks : unnamed->ranks;
    unnamed->global_rank = call->global_rank == COUNT_UNKNOWN ? unnamed->global_rank : call->global_rank;
    if (!unnamed->example.length)
        unnamed->first_launches = call->launches;
    unnamed->is_counting |= call->launches > unnamed->first_launches;
    unnamed->calls[call->function]++;
    if (!unnamed->example.length &&
        buffer_append(&unnamed->example, said->message.data, said->message.length))
        return -1;
    return hold(list, said, call, (size_t)(unnamed - list->items));
}

/* A process and one of its GPUs, with its communicators of one size. */
struct owner {
    int64_t source_process;
    int64_t device;
    int64_t rank; /* of the Init lines; COUNT_UNKNOWN: they are lacking, or differ */
    int64_t global_rank;
    int64_t count; /* of its communicators of the size */
    int is_whole;  /* the log has its communicators from the first call on */
};

struct owners {
    struct owner *items; /* owned */
    size_t count;
    int is_only_size;    /* no other communicator of the log has another size */
    struct map by_place; /* process, device -> index */
};

/* Adds a communicator to its owner; the array has room. */
static int add_to_owner(struct owners *owners, struct unnamed *unnamed)
{
    int added;
    int64_t *number = map_put(
        &owners->by_place, (struct map_key){{(uint64_t)unnamed->source_process, (uint64_t)unnamed->device}},
        (int64_t)owners->count, &added);
    if (!number)
        return -1;
    struct owner *owner = &owners->items[*number];
    if (added)
        owners->items[owners->count++] = (struct owner){
            unnamed->source_process, unnamed->device, unnamed->rank, unnamed->global_rank, 0, 1};
    owner->is_whole &= unnamed->first_launches == 0 && unnamed->is_counting;
    owner->rank = owner->rank == unnamed->rank ? owner->rank : COUNT_UNKNOWN;
    owner->global_rank = owner->global_rank == COUNT_UNKNOWN ? unnamed->global_rank : owner->global_rank;
    unnamed->owner = *number;
    unnamed->turn = owner->count++;
    return 0;
}

/* Where the rank of an owner can be from. */
enum source { FROM_INIT, FROM_GLOBAL_RANK, FROM_DEVICE, SOURCE_COUNT };

/* schemas/analysis/caution.sql looks for the last one. */
static const char *const source_notes[SOURCE_COUNT] = {
    [FROM_INIT] = "communicator without a name: the ranks are those of its Init lines",
    [FROM_GLOBAL_RANK] = "communicator without a name: its ranks are taken from global ranks",
    [FROM_DEVICE] = "communicator without a name: its ranks are taken from device numbers"};

static int64_t rank_from(const struct owner *owner, enum source source)
{
    return source == FROM_INIT          ? owner->rank
           : source == FROM_GLOBAL_RANK ? owner->global_rank
                                        : owner->device;
}

static int are_on_one_host(const struct owners *owners, const struct source_processes *processes)
{
    for (size_t i = 1; i < owners->count; i++)
        if (processes->items[owners->items[i].source_process].host !=
            processes->items[owners->items[0].source_process].host)
            return 0;
    return 1;
}

/*
 * Whether each owner has its own rank below the size. Other logs may have the other ranks only if all
 * communicators have this size, because those of subgroups have the same size and ranks. Returns -1 if memory
 * is out.
 */
static int are_ranks(const struct owners *owners, const struct source_processes *processes, int64_t ranks,
                     enum source source)
{
    struct map seen;
    int are = (int64_t)owners->count == ranks || (owners->is_only_size && source != FROM_DEVICE);
    if (source == FROM_DEVICE && !are_on_one_host(owners, processes))
        are = 0;
    map_init(&seen);
    for (size_t i = 0; i < owners->count && are == 1; i++) {
        int64_t rank = rank_from(&owners->items[i], source);
        int added = 0;
        if (rank >= 0 && rank < ranks && !map_put(&seen, (struct map_key){{(uint64_t)rank}}, 1, &added))
            are = -1;
        else
            are = added;
    }
    map_release(&seen);
    return are;
}

static int have_equal_counts(const struct owners *owners)
{
    for (size_t i = 1; i < owners->count; i++)
        if (owners->items[i].count != owners->items[0].count)
            return 0;
    return 1;
}

/* Without Init lines: whether the log has all calls from the first one on. */
static int are_whole(const struct owners *owners)
{
    for (size_t i = 0; i < owners->count; i++)
        if (!owners->items[i].is_whole)
            return 0;
    return 1;
}

/*
 * Makes up the hash of a communicator, from the first line of its member with the lowest rank. If other
 * members are in other logs, the hash is the same in each of them.
 */
static uint64_t make_hash(const struct unnamed *unnamed, const struct source_processes *processes,
                          int are_all_here)
{
    char name[320];
    const struct source_process *process = &processes->items[unnamed->source_process];
    if (!are_all_here) {
        snprintf(name, sizeof name, "NCCL log: communicator %lld of %lld ranks", (long long)unnamed->turn,
                 (long long)unnamed->ranks);
        return communicator_hash_of(name, NULL, 0);
    }
    snprintf(name, sizeof name, "NCCL log: %.200s, process %lld, comm 0x%llx, byte %llu",
             intern_text(&processes->hosts, process->host), (long long)process->pid,
             (unsigned long long)unnamed->address, (unsigned long long)unnamed->offset);
    return communicator_hash_of(name, NULL, 0);
}

/* Sets rank and hash of the communicators of a size. */
static int set_matches(struct unnamed_list *list, const struct owners *owners,
                       const struct source_processes *processes, int64_t ranks, enum source source)
{
    int64_t turns = owners->items[0].count;
    uint64_t *hashes = array_new((size_t)turns, sizeof *hashes);
    int64_t *lowest = array_new((size_t)turns, sizeof *lowest);
    for (size_t i = 0; hashes && lowest && i < list->count; i++) {
        struct unnamed *unnamed = &list->items[i];
        if (unnamed->ranks != ranks)
            continue;
        unnamed->rank = rank_from(&owners->items[unnamed->owner], source);
        unnamed->source = source_notes[source];
        if (!hashes[unnamed->turn] || unnamed->rank < lowest[unnamed->turn]) {
            hashes[unnamed->turn] = make_hash(unnamed, processes, (int64_t)owners->count == ranks);
            lowest[unnamed->turn] = unnamed->rank;
        }
    }
    for (size_t i = 0; hashes && lowest && i < list->count; i++)
        if (list->items[i].ranks == ranks)
            list->items[i].hash = hashes[list->items[i].turn];
    int failed = !hashes || !lowest;
    free(hashes);
    free(lowest);
    return failed ? -1 : 0;
}

/* Matches the communicators of one size. Returns 1, 0 if there is no one way, and -1 if memory is out. */
static int match_size(struct unnamed_list *list, const struct source_processes *processes, int64_t ranks)
{
    struct owners owners = {.items = array_new(list->count, sizeof *owners.items)};
    int found = owners.items ? 0 : -1;
    map_init(&owners.by_place);
    owners.is_only_size = 1;
    for (size_t i = 0; i < list->count && found == 0; i++) {
        owners.is_only_size &= list->items[i].ranks == ranks;
        if (list->items[i].ranks == ranks)
            found = add_to_owner(&owners, &list->items[i]);
    }
    if (found == 0 && have_equal_counts(&owners))
        for (int source = 0; source < SOURCE_COUNT && found == 0; source++) {
            found = source == FROM_INIT || are_whole(&owners)
                        ? are_ranks(&owners, processes, ranks, (enum source)source)
                        : 0;
            if (found == 1 && set_matches(list, &owners, processes, ranks, (enum source)source))
                found = -1;
        }
    map_release(&owners.by_place);
    free(owners.items);
    return found;
}

static int add_members(struct unnamed_list *list, struct source_processes *processes)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct unnamed *unnamed = &list->items[i];
        const struct message_init init = {.communicator = unnamed->address,
                                          .rank = unnamed->rank,
                                          .ranks = unnamed->ranks,
                                          .device = unnamed->device,
                                          .color = COUNT_UNKNOWN};
        if (source_processes_assume(processes, unnamed->source_process, &init, unnamed->hash))
            return -1;
    }
    return 0;
}

int unnamed_match(struct unnamed_list *list, struct source_processes *processes)
{
    int found = list->count && !list->has_more;
    for (size_t i = 0; i < list->count && found == 1; i++)
        if (!list->items[i].hash)
            found = list->items[i].ranks > 0 ? match_size(list, processes, list->items[i].ranks) : 0;
    if (found == 1 && add_members(list, processes))
        found = -1;
    return found;
}

/* lib/report/log_notes.c parses this text. */
static void name(const struct unnamed *unnamed, enum function function, char *what, size_t bytes)
{
    char ranks[48] = "", device[48] = "", rank[48] = "";
    if (unnamed->ranks != COUNT_UNKNOWN)
        snprintf(ranks, sizeof ranks, " on communicators of %lld ranks", (long long)unnamed->ranks);
    if (unnamed->device >= 0)
        snprintf(device, sizeof device, ", device %lld", (long long)unnamed->device);
    if (unnamed->global_rank >= 0)
        snprintf(rank, sizeof rank, ", global rank %lld", (long long)unnamed->global_rank);
    snprintf(what, bytes, "%s%s%s%s: %s", function_name(function), ranks, device, rank,
             unnamed->is_old ? "NCCL below 2.18 names no communicator in its Init line"
                             : "the Init line is not in this log");
}

static int emit_unnamed_calls(const struct unnamed *unnamed, enum function function,
                              const struct source_processes *processes, const struct format_sink *sink,
                              struct error *error)
{
    char what[256];
    const struct source_process *process = &processes->items[unnamed->source_process];
    struct event event = {.kind = EVENT_LOSS,
                          .origin = {.host = intern_text(&processes->hosts, process->host),
                                     .pid = process->pid,
                                     .rank = COUNT_UNKNOWN,
                                     .offset = unnamed->offset},
                          .loss = {.events = unnamed->calls[function], .what = what}};
    name(unnamed, function, what, sizeof what);
    return sink->event(sink->context, &event, error);
}

/* Notes all lines of the communicator, with the first as the example. */
static int note_lines(const struct unnamed *unnamed, int64_t calls, const struct format_sink *sink,
                      struct error *error)
{
    static const char old_init[] = "Init line without commId: NCCL below 2.18 names no communicator";
    const char *reason = unnamed->is_old ? "call on a communicator that NCCL below 2.18 does not name"
                                         : "call on a communicator whose Init line is not in this log";
    for (int64_t i = 0; i < unnamed->init_lines + calls; i++)
        if (sink->note(sink->context, i < unnamed->init_lines ? old_init : reason, 0, unnamed->offset,
                       i == unnamed->init_lines ? unnamed->example.data : NULL,
                       i == unnamed->init_lines ? unnamed->example.length : 0, error))
            return -1;
    return 0;
}

int unnamed_emit(const struct unnamed_list *list, const struct source_processes *processes,
                 const struct format_sink *sink, struct error *error)
{
    for (size_t i = 0; i < list->count; i++) {
        int64_t calls = 0;
        for (enum function function = 0; function < FUNCTION_COUNT; function++) {
            calls += list->items[i].calls[function];
            if (list->items[i].calls[function] &&
                emit_unnamed_calls(&list->items[i], function, processes, sink, error))
                return -1;
        }
        if (note_lines(&list->items[i], calls, sink, error))
            return -1;
    }
    return 0;
}

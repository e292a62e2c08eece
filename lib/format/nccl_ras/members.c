/*
 * The members of the communicators in a RAS dump: their placement, their counts and the errors on them, and
 * the operations that follow from the counts.
 */
#include "base/base.h"
#include "format/format.h"
#include "format/internal.h"
#include "format/nccl_ras/nccl_ras.h"
#include "input/input.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * Limit on the operations handed over per function that only some ranks launched; hosts do not get further
 * ahead.
 */
enum { AHEAD_MOST = 1024 };

/* Twice the size of a stored call, to leave room for what is stored about ranks. */
enum { CALL_BYTES = 128 };

static const enum function functions[RAS_COUNTS] = {FUNCTION_BROADCAST,
                                                    FUNCTION_REDUCE,
                                                    FUNCTION_ALL_GATHER,
                                                    FUNCTION_REDUCE_SCATTER,
                                                    FUNCTION_ALL_REDUCE,
                                                    FUNCTION_ALL_TO_ALL,
                                                    [RAS_COUNT_OF_ALL] = FUNCTION_UNKNOWN};

int ras_count_of(const char *name, size_t length)
{
    static const char all[] = "collective";
    for (int i = 0; i < RAS_FUNCTIONS; i++) {
        const char *function = function_name(functions[i]);
        if (strlen(function) == length && memcmp(function, name, length) == 0)
            return i;
    }
    return length == sizeof all - 1 && memcmp(name, all, length) == 0 ? RAS_COUNT_OF_ALL : -1;
}

void ras_members_init(struct ras_members *member_list)
{
    *member_list = (struct ras_members){.at_ns = TIME_UNKNOWN};
    intern_init(&member_list->texts);
}

void ras_members_release(struct ras_members *member_list)
{
    intern_release(&member_list->texts);
    free(member_list->items);
    free(member_list->kept);
}

/* RAS identifies a host by its address; "unknown" if it has none. */
int ras_members_host(struct ras_members *member_list, const char *text, size_t length, int64_t *number)
{
    static const char unknown[] = "unknown";
    *number = -1;
    if (!length || (length == sizeof unknown - 1 && memcmp(text, unknown, length) == 0))
        return 0;
    *number = intern_put(&member_list->texts, text, length);
    return *number < 0 ? -1 : 0;
}

enum { NS_PER_S = 1000000000 };

int64_t ras_moment_of(const char *text, size_t length)
{
    static const char layout[] = "0000-00-00 00:00:00";
    int64_t part[6] = {0};
    size_t at = 0;
    if (length != sizeof layout - 1)
        return TIME_UNKNOWN;
    for (size_t i = 0; i < length; i++) {
        if (layout[i] == '0' ? !is_digit(text[i]) : text[i] != layout[i])
            return TIME_UNKNOWN;
        if (is_digit(text[i]))
            part[at] = part[at] * 10 + (text[i] - '0');
        else
            at++;
    }
    struct tm time = {.tm_year = (int)part[0] - 1900,
                      .tm_mon = (int)part[1] - 1,
                      .tm_mday = (int)part[2],
                      .tm_hour = (int)part[3],
                      .tm_min = (int)part[4],
                      .tm_sec = (int)part[5]};
    int64_t seconds = timegm(&time);
    return seconds > 0 && seconds < INT64_MAX / NS_PER_S ? seconds * NS_PER_S : TIME_UNKNOWN;
}

struct ras_member ras_member_of(uint64_t communicator_hash, int64_t communicator_size, int64_t rank,
                                uint64_t offset)
{
    struct ras_member member = {.communicator_hash = communicator_hash,
                                .communicator_size = communicator_size,
                                .host = -1,
                                .pid = COUNT_UNKNOWN,
                                .rank = rank,
                                .gpu = COUNT_UNKNOWN,
                                .missing = WARNING_OTHER,
                                .total = COUNT_UNKNOWN,
                                .offset = offset};
    for (int i = 0; i < RAS_COUNTS; i++)
        member.counts[i] = COUNT_UNKNOWN;
    return member;
}

int ras_members_put(struct ras_members *member_list, const struct ras_member *member)
{
    if (array_reserve((void **)&member_list->items, &member_list->capacity, member_list->count + 1,
                      sizeof *member_list->items))
        return -1;
    member_list->items[member_list->count++] = *member;
    return 0;
}

/*
 * NCCL's result on a rank: that of its threads, else that of its initialization. Until an initialization has
 * finished, its state is an internal error (ncclCommInitRankDev()).
 */
static int64_t error_of(struct json *json, const struct value *status)
{
    int64_t result = member_natural(json, status, "async_error", 0);
    if (!result || result == RAS_RESULT_IN_PROGRESS) {
        result = member_natural(json, status, "init_state", 0);
        result = result == RAS_RESULT_INTERNAL ? 0 : result;
    }
    if (result == RAS_RESULT_IN_PROGRESS)
        return 0;
    return result < RAS_RESULT_OTHER ? result : RAS_RESULT_OTHER;
}

/* The sum of all counts; COUNT_UNKNOWN if there is none, or it is impossibly large. */
static int64_t total_of(const struct value *counts)
{
    int64_t sum = 0, count;
    for (const struct value *key = value_begin(counts); key != value_end(counts); key += 2)
        if (json_int64(key + 1, &count) || count < 0 || __builtin_add_overflow(sum, count, &sum))
            return COUNT_UNKNOWN;
    return counts ? sum : COUNT_UNKNOWN;
}

static void take_counts(struct ras_member *member, struct json *json, const struct value *counts)
{
    for (int i = 0; i < RAS_FUNCTIONS; i++) {
        int64_t absent = i < RAS_FUNCTIONS_EVER || !counts ? COUNT_UNKNOWN : 0;
        member->counts[i] = member_natural(json, counts, function_name(functions[i]), absent);
    }
    member->total = total_of(counts);
}

int ras_members_add(struct ras_members *member_list, struct json *json, enum warning_kind missing,
                    uint64_t offset)
{
    const struct value *root = &json->root;
    const struct value *counts = member_object(json, root, "collective_counts");
    const struct value *status = member_object(json, root, "status");
    const char *host = member_text(json, root, "host");
    struct ras_member member = {.communicator_hash = member_list->communicator_hash,
                                .communicator_size = member_list->communicator_size,
                                .pid = member_natural_or_none(json, root, "pid"),
                                .rank = member_natural(json, root, "rank", COUNT_UNKNOWN),
                                .gpu = member_natural_or_none(json, root, "cuda_dev"),
                                .missing = missing,
                                .error = error_of(json, status),
                                .is_aborted = json_is_true(json_member(status, "abort_flag")),
                                .offset = offset};
    take_counts(&member, json, counts);
    if (ras_members_host(member_list, host ? host : "", host ? strlen(host) : 0, &member.host))
        return -1;
    return ras_members_put(member_list, &member);
}

static int by_place(const void *a, const void *b)
{
    const struct ras_member *left = a, *right = b;
    if (left->communicator_hash != right->communicator_hash)
        return left->communicator_hash < right->communicator_hash ? -1 : 1;
    return (left->rank > right->rank) - (left->rank < right->rank);
}

void ras_members_sort(struct ras_members *member_list)
{
    array_sort(member_list->items, member_list->count, sizeof *member_list->items, by_place);
}

/*
 * Ranks with an unknown process may appear in several communicators. If one communicator is larger than all
 * others, it may contain all ranks, and equal rank numbers are the same rank. Otherwise that cannot be
 * determined, and they are different ranks.
 */
static void find_world(struct ras_members *member_list)
{
    uint64_t largest = 0;
    int64_t size = -1;
    member_list->has_world = 0;
    for (size_t i = 0; i < member_list->count; i++) {
        const struct ras_member *member = &member_list->items[i];
        if (!member->communicator_hash || member->communicator_size < size ||
            (member->communicator_size == size && member->communicator_hash == largest))
            continue;
        member_list->has_world = member->communicator_size > size;
        size = member->communicator_size;
        largest = member->communicator_hash;
    }
}

/*
 * A number that identifies a process without host and PID, the same in all dumps. It is used as a start time;
 * it is negative, which no real start time is.
 */
static int64_t number_unknown(const struct ras_members *member_list, const struct ras_member *member)
{
    uint64_t rank = (uint64_t)member->rank;
    uint64_t number = member_list->has_world ? rank << 1 : hash_mix(member->communicator_hash, rank);
    return -1 - (int64_t)(number >> 1);
}

static struct origin origin_of(const struct ras_members *member_list, const struct ras_member *member)
{
    return (struct origin){.host = member->host < 0 ? NULL : intern_text(&member_list->texts, member->host),
                           .pid = member->pid,
                           .started_ns = member->host < 0 && member->pid == COUNT_UNKNOWN
                                             ? number_unknown(member_list, member)
                                             : 0,
                           .communicator_hash = member->communicator_hash,
                           .communicator_size = member->communicator_size,
                           .rank = member->rank,
                           .offset = member->offset};
}

/* The number of all operations that it launched there; COUNT_UNKNOWN if not given or impossibly large. */
static int64_t launched(const struct ras_member *member)
{
    int64_t sum = 0;
    for (int i = 0; i < RAS_COUNTS; i++)
        if (member->counts[i] < 0 || __builtin_add_overflow(sum, member->counts[i], &sum))
            return COUNT_UNKNOWN;
    return sum;
}

/* `is_void`: all counts of its communicator are 0. */
static int emit_status(const struct ras_members *member_list, const struct ras_member *member, int is_void,
                       const struct format_sink *sink, struct error *error)
{
    struct event event = {.kind = EVENT_GROUP_STATUS, .origin = origin_of(member_list, member)};
    event.group_status = (struct group_status){.enqueued = is_void ? COUNT_UNKNOWN : launched(member),
                                               .started = is_void ? COUNT_UNKNOWN : member->total,
                                               .completed = COUNT_UNKNOWN,
                                               .timed_out = COUNT_UNKNOWN,
                                               .at_ns = member_list->at_ns};
    return sink->event(sink->context, &event, error);
}

static int emit_warning(const struct ras_members *member_list, const struct ras_member *member,
                        enum warning_kind kind, const char *text, const struct format_sink *sink,
                        struct error *error)
{
    struct event event = {.kind = EVENT_WARNING, .origin = origin_of(member_list, member)};
    event.warning = (struct warning){.kind = kind,
                                     .at_ns = member_list->at_ns,
                                     .gpu = COUNT_UNKNOWN,
                                     .calls = COUNT_UNKNOWN,
                                     .status = COUNT_UNKNOWN,
                                     .text = text};
    return sink->event(sink->context, &event, error);
}

static int emit_missing(const struct ras_members *member_list, const struct ras_member *member,
                        const struct format_sink *sink, struct error *error)
{
    const char *text = member->missing == WARNING_DEAD ? "RAS: considered dead" : "RAS: unresponsive";
    return emit_warning(member_list, member, member->missing, text, sink, error);
}

/*
 * Reports the error on a rank. A remote error belongs to another rank. In an aborted communicator, waiting
 * threads end with an internal error.
 */
static int emit_error(const struct ras_members *member_list, const struct ras_member *member,
                      const struct format_sink *sink, struct error *error)
{
    static const struct {
        enum warning_kind kind;
        const char *text;
    } errors[] = {
        [RAS_RESULT_CUDA] = {WARNING_CUDA, "RAS: unhandled CUDA error"},
        [RAS_RESULT_SYSTEM] = {WARNING_SYSTEM, "RAS: unhandled system error"},
        [RAS_RESULT_INTERNAL] = {WARNING_INTERNAL, "RAS: internal error"},
        [RAS_RESULT_ARGUMENT] = {WARNING_USAGE, "RAS: invalid argument"},
        [RAS_RESULT_USAGE] = {WARNING_USAGE, "RAS: invalid usage"},
        [RAS_RESULT_REMOTE] = {WARNING_CLOSED, "RAS: remote error"},
        [RAS_RESULT_OTHER] = {WARNING_FAILED, "RAS: error"},
    };
    int is_effect = member->is_aborted && member->error == RAS_RESULT_INTERNAL;
    return emit_warning(member_list, member, is_effect ? WARNING_ABORTED : errors[member->error].kind,
                        errors[member->error].text, sink, error);
}

/* The process of a rank that a report counts but does not list is unknown and has no facts. */
static int emit_facts(const struct ras_members *member_list, const struct ras_member *member,
                      const struct format_sink *sink, struct error *error)
{
    struct event facts = {
        .kind = EVENT_PROCESS, .origin = origin_of(member_list, member), .process = PROCESS_FACTS_NONE};
    facts.process.gpu = member->gpu;
    facts.process.address = facts.origin.host;
    return member->host < 0 && member->pid == COUNT_UNKNOWN && member->gpu == COUNT_UNKNOWN
               ? 0
               : sink->event(sink->context, &facts, error);
}

static int emit_member(const struct ras_members *member_list, const struct ras_member *member, int is_void,
                       const struct format_sink *sink, struct error *error)
{
    struct event place = {.kind = EVENT_COMMUNICATOR, .origin = origin_of(member_list, member)};
    return sink->event(sink->context, &place, error) || emit_facts(member_list, member, sink, error) ||
                   (member->missing == WARNING_OTHER ? emit_status(member_list, member, is_void, sink, error)
                                                     : emit_missing(member_list, member, sink, error)) ||
                   (member->error && emit_error(member_list, member, sink, error))
               ? -1
               : 0;
}

/* State while calls are handed over. */
struct handing {
    int64_t ordinal;    /* of the next call */
    int64_t ahead_most; /* limit per function on the calls that only some ranks launched */
};

static int emit_call(const struct ras_members *member_list, const struct ras_member *member,
                     enum function function, int64_t number, struct handing *handing,
                     const struct format_sink *sink, struct error *error)
{
    struct event event = {
        .kind = EVENT_OPERATION, .origin = origin_of(member_list, member), .operation = OPERATION_UNKNOWN};
    event.operation.ordinal = handing->ordinal++;
    event.operation.kind = OPERATION_COLLECTIVE;
    event.operation.function = function;
    event.operation.sequence = number;
    return sink->event(sink->context, &event, error);
}

/* Counts the members of the communicator that begins at `first`. */
static size_t count_members(const struct ras_members *member_list, size_t first)
{
    size_t past = first;
    while (past < member_list->count &&
           member_list->items[past].communicator_hash == member_list->items[first].communicator_hash)
        past++;
    return past - first;
}

/* How often every member with a known count launched a function. */
static int64_t common_count(const struct ras_member *first, size_t members, int function)
{
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < members; i++)
        if (first[i].counts[function] != COUNT_UNKNOWN && first[i].counts[function] < least)
            least = first[i].counts[function];
    return least == INT64_MAX ? 0 : least;
}

/* Hands over the last common call, or all that are not common. */
static int emit_calls(const struct ras_members *member_list, const struct ras_member *member, int function,
                      int64_t common, int is_common, struct handing *handing, const struct format_sink *sink,
                      struct error *error)
{
    int64_t first = is_common ? common - 1 : common;
    int64_t past = is_common ? common : member->counts[function];
    int is_cut = past - first > handing->ahead_most;
    if (member->counts[function] < 0 || first < 0)
        return 0;
    if (is_cut && sink->note(sink->context, "too many operations ahead", 0, member->offset, NULL, 0, error))
        return -1;
    for (int64_t number = first; number < (is_cut ? first + handing->ahead_most : past); number++)
        if (emit_call(member_list, member, functions[function], number, handing, sink, error))
            return -1;
    return 0;
}

static int emit_communicator(const struct ras_members *member_list, size_t first, size_t members,
                             int is_common, struct handing *handing, const struct format_sink *sink,
                             struct error *error)
{
    const struct ras_member *items = member_list->items + first;
    for (int function = 0; function < RAS_COUNTS; function++) {
        int64_t common = common_count(items, members, function);
        for (size_t i = 0; i < members; i++)
            if (emit_calls(member_list, &items[i], function, common, is_common, handing, sink, error))
                return -1;
    }
    return 0;
}

/* How many calls only some ranks launched, with at most `ahead_most` per function and rank. */
static int64_t count_ahead(const struct ras_members *member_list, int64_t ahead_most)
{
    int64_t sum = 0;
    for (size_t i = 0, members = 0; i < member_list->count; i += members) {
        members = count_members(member_list, i);
        for (int function = 0; function < RAS_COUNTS; function++) {
            int64_t common = common_count(&member_list->items[i], members, function);
            for (size_t k = i; k < i + members; k++) {
                int64_t ahead = member_list->items[k].counts[function] - common;
                sum += ahead < 0 ? 0 : ahead < ahead_most ? ahead : ahead_most;
            }
        }
    }
    return sum;
}

/*
 * A count takes a few bytes but may stand for many calls. The number handed over is limited by the size of
 * the file, and is the same for all ranks: the first calls already show which ranks are behind.
 */
static int64_t find_ahead_most(const struct ras_members *member_list)
{
    int64_t most = AHEAD_MOST;
    uint64_t bytes = member_list->count ? member_list->items[member_list->count - 1].offset : 0;
    while (most > 1 && count_ahead(member_list, most) > (int64_t)(format_expansion_limit(bytes) / CALL_BYTES))
        most /= 2;
    return most;
}

/* Whether, by RAS's counts, none of the members that answered launched anything. */
static int launched_nothing(const struct ras_member *first, size_t members)
{
    size_t answered = 0;
    for (size_t i = 0; i < members; i++) {
        answered += first[i].missing == WARNING_OTHER;
        if (first[i].missing == WARNING_OTHER && (launched(&first[i]) != 0 || first[i].total > 0))
            return 0;
    }
    return answered > 0;
}

/* `*is_void`: no communicator has a count. */
static int emit_places(struct ras_members *member_list, int *is_void, const struct format_sink *sink,
                       struct error *error)
{
    size_t without = 0, communicators = 0;
    find_world(member_list);
    for (size_t i = 0, members = 0; i < member_list->count; i += members, communicators++) {
        members = count_members(member_list, i);
        int launched_none = launched_nothing(&member_list->items[i], members);
        without += launched_none != 0;
        for (size_t at = i; at < i + members; at++)
            if (!member_list->items[at].is_void &&
                emit_member(member_list, &member_list->items[at], launched_none, sink, error))
                return -1;
    }
    *is_void = without == communicators;
    return without && *is_void &&
                   sink->note(sink->context, "dump in which all counts are 0", 0, 0, NULL, 0, error)
               ? -1
               : 0;
}

static void swap_kept(struct ras_members *member_list)
{
    struct ras_members now = *member_list;
    member_list->items = now.kept;
    member_list->count = now.kept_count;
    member_list->capacity = now.kept_capacity;
    member_list->kept = now.items;
    member_list->kept_count = now.count;
    member_list->kept_capacity = now.capacity;
}

int ras_members_next(struct ras_members *member_list, const struct format_sink *sink, struct error *error)
{
    int is_void;
    if (emit_places(member_list, &is_void, sink, error))
        return -1;
    if (!is_void)
        swap_kept(member_list);
    member_list->count = 0;
    member_list->communicator_hash = 0;
    member_list->communicator_size = 0;
    member_list->at_ns = TIME_UNKNOWN;
    return 0;
}

int ras_members_end(struct ras_members *member_list, const struct format_sink *sink, struct error *error)
{
    int is_void;
    if (emit_places(member_list, &is_void, sink, error))
        return -1;
    if (is_void && member_list->kept_count)
        swap_kept(member_list);
    find_world(member_list);
    struct handing handing = {.ahead_most = find_ahead_most(member_list)};
    for (int is_common = 1; is_common >= 0; is_common--)
        for (size_t i = 0, members = 0; i < member_list->count; i += members) {
            members = count_members(member_list, i);
            if (emit_communicator(member_list, i, members, is_common, &handing, sink, error))
                return -1;
        }
    return 0;
}

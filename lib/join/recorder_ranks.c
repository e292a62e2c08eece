/*
 * Compares one rank in two recordings: finds which members are the same, aligns their calls
 * (recorder_match.c) and counts calls that match or contradict each other. recorder_runs.c adds up the ranks.
 */
#include "base/base.h"
#include "join/internal.h"
#include "join/logs.h"
#include "join/recorders.h"
#include "model/model.h"

#include <stdlib.h>

/* At most one call in so many may not match: a recorder may have lost it, or not have seen its launch. */
enum { ODD_CALLS = 10 };

void members_release(struct member_list *list)
{
    for (size_t i = 0; list->calls && i < list->count; i++)
        recorded_calls_release(&list->calls[i]);
    free(list->calls);
    free(list->members);
    free(list->is_taken);
}

int members_load(struct member_list *list, struct recorder_match *matching, const struct recorder_side *side,
                 struct error *error)
{
    struct work *work = matching->work;
    int32_t process = work->ranks[side->rank].process;
    size_t first = work->by_process.first[process], end = work->by_process.first[process + 1];
    *list = (struct member_list){.members = array_new(end - first, sizeof *list->members),
                                 .calls = array_new(end - first, sizeof *list->calls),
                                 .is_taken = array_new(end - first, 1)};
    if (!list->members || !list->calls || !list->is_taken)
        return error_no_memory(error);
    for (size_t i = first; i < end; i++) {
        int32_t number = work->by_process.items[i];
        const struct work_member *member = &work->members[number];
        if (member->job_rank != side->rank || !member->operations)
            continue;
        list->members[list->count] = number;
        if (recorded_calls_load(&list->calls[list->count++], work, matching->logs, member->id, side->clock,
                                side->by_number, error))
            return -1;
    }
    return 0;
}

/* The global rank of a rank in a communicator; -1: unknown. */
static int64_t rank_at(const struct work *work, int32_t number, int64_t at)
{
    const struct work_communicator *communicator = &work->communicators[number];
    if (at >= 0 && (uint64_t)at < communicator->told_count)
        return communicator->told[at];
    for (size_t i = work->by_communicator.first[number]; i < work->by_communicator.first[number + 1]; i++) {
        const struct work_member *member = &work->members[work->by_communicator.items[i]];
        if (member->rank == at && member->job_rank >= 0)
            return work->ranks[member->job_rank].global_rank;
    }
    return -1;
}

/* Whether equal ranks in the two communicators are equal global ranks, as far as these are known. */
static int have_same_ranks(const struct work *work, int32_t one, int32_t other)
{
    if (work->communicators[one].size != work->communicators[other].size)
        return 0;
    for (size_t i = work->by_communicator.first[other]; i < work->by_communicator.first[other + 1]; i++) {
        int64_t at = work->members[work->by_communicator.items[i]].rank;
        int64_t in_one = rank_at(work, one, at);
        if (in_one >= 0 && in_one != rank_at(work, other, at))
            return 0;
    }
    return 1;
}

int members_match(struct recorder_match *matching, int32_t one, int32_t other)
{
    const struct work_member *here = &matching->work->members[one], *there = &matching->work->members[other];
    struct map_key key = {{(uint64_t)here->communicator, (uint64_t)there->communicator}};
    int added;
    if (here->rank != there->rank)
        return 0;
    int64_t *alike = map_put(&matching->alike, key, 0, &added);
    if (alike && added)
        *alike = have_same_ranks(matching->work, here->communicator, there->communicator);
    return alike ? *alike != 0 : -1;
}

/* Functions that have other names in NCCL's own records, because they are made of sends and receives. */
static int is_made_of_others(enum function function)
{
    return function == FUNCTION_ALL_TO_ALL || function == FUNCTION_GATHER || function == FUNCTION_SCATTER ||
           function == FUNCTION_OTHER || function == FUNCTION_UNKNOWN;
}

static size_t find_series(const struct recorded_calls *calls, int32_t series)
{
    size_t first = 0;
    while (first < calls->count && calls->items[first].series != series)
        first = recorded_calls_end(calls, first);
    return first;
}

/* How the calls of two members match: one entry for each series of the other. */
struct laid {
    struct series_match *series; /* owned; by series of the other, in order */
    unsigned char *is_found;
    size_t count;
    size_t timed;
    int64_t lag_ns; /* of the series with most calls that have times */
};

static void laid_release(struct laid *laid)
{
    free(laid->series);
    free(laid->is_found);
}

static size_t count_series(const struct recorded_calls *calls)
{
    size_t count = 0;
    for (size_t first = 0; first < calls->count; first = recorded_calls_end(calls, first))
        count++;
    return count;
}

/*
 * `near`: align the series that times alone could not align, by the time difference of the longest aligned
 * one.
 */
static int align_member_series(const struct recorded_calls *one, const struct recorded_calls *other, int near,
                               struct laid *laid)
{
    size_t at = 0, longest = 0;
    for (size_t first = 0, end; first < other->count; first = end, at++) {
        size_t here = find_series(one, other->items[first].series);
        size_t count = here < one->count ? recorded_calls_end(one, here) - here : 0;
        int found = 0;
        end = recorded_calls_end(other, first);
        if (laid->is_found[at])
            continue;
        if (near)
            found = series_align_near(one->items + here, count, other->items + first, end - first,
                                      laid->lag_ns, &laid->series[at]);
        else if ((found = series_align(one->items + here, count, other->items + first, end - first,
                                       &laid->series[at])) < 0)
            return -1;
        laid->is_found[at] = found != 0;
        if (near || !found)
            continue;
        laid->timed += laid->series[at].timed;
        if (laid->series[at].timed > longest) {
            longest = laid->series[at].timed;
            laid->lag_ns = laid->series[at].lag_ns;
        }
    }
    return 0;
}

static int lay(const struct recorded_calls *one, const struct recorded_calls *other, struct laid *laid)
{
    size_t count = count_series(other);
    *laid = (struct laid){
        .series = array_new(count, sizeof *laid->series), .is_found = array_new(count, 1), .count = count};
    if (!laid->series || !laid->is_found || align_member_series(one, other, 0, laid))
        return -1;
    return laid->timed ? align_member_series(one, other, 1, laid) : 0;
}

static void quarrel(struct recorder_conflict *about, const struct recorded_call *call, int64_t kept,
                    int64_t other)
{
    if (!about->count++) {
        about->function = call->function;
        about->kept = kept;
        about->other = other;
    }
}

/*
 * Broadcasts and gathers are sent as bytes whatever their datatype, so a datatype of one byte is no
 * contradiction.
 */
static int are_types_otherwise(enum datatype one, enum datatype other)
{
    return one != other && datatype_bytes(one) > 1 && datatype_bytes(one) == datatype_bytes(other);
}

static int take_pair(struct rank_match *match, const struct recorded_call *one,
                     const struct recorded_call *other)
{
    match->pairs++;
    match->collectives += !function_is_point_to_point((enum function)one->function);
    if (one->bytes >= 0 && other->bytes >= 0 && one->bytes != other->bytes)
        quarrel(&match->sizes, one, one->bytes, other->bytes);
    if (are_types_otherwise((enum datatype)one->datatype, (enum datatype)other->datatype))
        quarrel(&match->datatypes, one, one->datatype, other->datatype);
    if (one->source >= 0 || other->source < 0)
        return 0;
    if (array_reserve((void **)&match->extra_fields, &match->extra_field_capacity,
                      match->extra_field_count + 1, sizeof *match->extra_fields))
        return -1;
    match->extra_fields[match->extra_field_count++] =
        (struct recorder_extra_field){one->block_id, one->row, other->source};
    return 0;
}

/* The last time of the calls; TIME_UNKNOWN. Sets *is_open if a call never ended. */
static int64_t last_time(const struct recorded_calls *calls, int *is_open)
{
    int64_t last = TIME_UNKNOWN;
    for (size_t i = 0; i < calls->count; i++) {
        last = calls->items[i].time_ns > last ? calls->items[i].time_ns : last;
        *is_open |= calls->items[i].is_unfinished;
    }
    return last;
}

static int64_t first_time(const struct recorded_calls *calls)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < calls->count; i++)
        if (calls->items[i].time_ns != TIME_UNKNOWN && calls->items[i].time_ns < first)
            first = calls->items[i].time_ns;
    return first;
}

/* The time that a rank's recording covers. */
struct recorder_ranks_span {
    int64_t first_ns;
    int64_t last_ns;
    int is_open;
};

static struct recorder_ranks_span span_of(const struct member_list *list)
{
    struct recorder_ranks_span span = {.first_ns = INT64_MAX, .last_ns = TIME_UNKNOWN};
    for (size_t i = 0; i < list->count; i++) {
        int64_t first = first_time(&list->calls[i]), last = last_time(&list->calls[i], &span.is_open);
        span.first_ns = first < span.first_ns ? first : span.first_ns;
        span.last_ns = last > span.last_ns ? last : span.last_ns;
    }
    return span;
}

/* Handles a call of the other recording that the one does not have. */
static void take_left_over(struct rank_match *match, const struct recorded_call *call,
                           const struct recorder_ranks_span *one)
{
    if (call->time_ns == TIME_UNKNOWN || is_made_of_others((enum function)call->function))
        return;
    if (call->is_unfinished && !one->is_open && call->time_ns > one->last_ns)
        match->only_other_stops = 1;
    match->left_over += call->time_ns > one->first_ns + RECORDER_LAG_MOST_NS &&
                        call->time_ns < one->last_ns - RECORDER_LAG_MOST_NS;
}

static int take_series(struct rank_match *match, const struct recorded_calls *one,
                       const struct recorded_calls *other, size_t first, const struct series_match *series,
                       const struct recorder_ranks_span *span)
{
    size_t end = recorded_calls_end(other, first), taken = first;
    size_t here = series ? find_series(one, other->items[first].series) : one->count;
    size_t count = here < one->count ? recorded_calls_end(one, here) - here : 0;
    struct pair_cursor cursor = {0};
    while (series && series_next_pair(&cursor, one->items + here, count, other->items + first, end - first,
                                      series->shift)) {
        for (; taken < first + cursor.at_other; taken++)
            take_left_over(match, &other->items[taken], span);
        taken++;
        if (take_pair(match, &one->items[here + cursor.at_one], &other->items[first + cursor.at_other]))
            return -1;
    }
    for (; taken < end; taken++)
        take_left_over(match, &other->items[taken], span);
    return 0;
}

static int take_member(struct rank_match *match, const struct recorded_calls *one,
                       const struct recorded_calls *other, const struct laid *laid,
                       const struct recorder_ranks_span *span)
{
    size_t at = 0;
    match->timed += laid ? laid->timed : 0;
    for (size_t first = 0; first < other->count; first = recorded_calls_end(other, first), at++) {
        const struct series_match *series = laid && laid->is_found[at] ? &laid->series[at] : NULL;
        if (take_series(match, one, other, first, series, span))
            return -1;
    }
    return 0;
}

int recorder_members_add(struct recorder_members *member_list, const struct work *work, int32_t one,
                         int32_t other)
{
    if (array_reserve((void **)&member_list->items, &member_list->capacity, member_list->count + 1,
                      sizeof *member_list->items))
        return -1;
    member_list->items[member_list->count++] =
        (struct recorder_member){work->members[other].id, work->members[one].id};
    return 0;
}

/*
 * Finds the member of the one that the other's calls match best, and how; *found is one->count if there is
 * none. -1: out of memory.
 */
static int find_member(struct recorder_match *matching, const struct member_list *one,
                       const struct member_list *other, size_t number, size_t *found, struct laid *best)
{
    *best = (struct laid){.count = 0};
    *found = one->count;
    for (size_t i = 0; i < one->count; i++) {
        struct laid laid;
        int may_be = one->is_taken[i] ? 0 : members_match(matching, one->members[i], other->members[number]);
        if (may_be <= 0) {
            if (may_be < 0)
                return -1;
            continue;
        }
        int failed = lay(&one->calls[i], &other->calls[number], &laid);
        if (!failed && laid.timed > best->timed) {
            struct laid worse = *best;
            *best = laid;
            laid = worse;
            *found = i;
        }
        laid_release(&laid);
        if (failed)
            return -1;
    }
    return 0;
}

static int match_member(struct recorder_match *matching, struct member_list *one,
                        const struct member_list *other, size_t number,
                        const struct recorder_ranks_span *span, struct rank_match *match)
{
    static const struct recorded_calls none = {.items = NULL};
    const struct recorded_calls *there = &other->calls[number];
    struct laid best;
    size_t found;
    int failed = find_member(matching, one, other, number, &found, &best);
    int is_found = !failed && found < one->count;
    if (is_found) {
        one->is_taken[found] = 1;
        failed = recorder_members_add(&match->member_list, matching->work, one->members[found],
                                      other->members[number]);
    }
    if (!failed)
        failed =
            take_member(match, is_found ? &one->calls[found] : &none, there, is_found ? &best : NULL, span);
    laid_release(&best);
    return failed;
}

static int is_without_nccl(const struct work *work, int32_t member)
{
    return work->communicators[work->members[member].communicator].is_without_nccl;
}

int ranks_match(struct recorder_match *matching, const struct recorder_side *one,
                const struct recorder_side *other, struct rank_match *match, struct error *error)
{
    struct member_list here = {.count = 0}, there = {.count = 0};
    int failed = members_load(&here, matching, one, error) || members_load(&there, matching, other, error);
    if (!failed) {
        struct recorder_ranks_span in_one = span_of(&here), in_other = span_of(&there);
        match->clocks = in_one.last_ns != TIME_UNKNOWN && in_other.last_ns != TIME_UNKNOWN;
        match->overlap = match->clocks && in_one.first_ns <= in_other.last_ns + RECORDER_LAG_MOST_NS &&
                         in_other.first_ns <= in_one.last_ns + RECORDER_LAG_MOST_NS;
        for (size_t i = 0; match->overlap && !failed && i < there.count; i++)
            if (!is_without_nccl(matching->work, there.members[i]) &&
                match_member(matching, &here, &there, i, &in_one, match))
                failed = error_no_memory(error);
    }
    members_release(&here);
    members_release(&there);
    return failed ? -1 : 0;
}

void rank_match_release(struct rank_match *match)
{
    free(match->extra_fields);
    free(match->member_list.items);
    match->member_list = (struct recorder_members){.items = NULL};
    match->extra_fields = NULL;
    match->extra_field_count = match->extra_field_capacity = 0;
}

int rank_match_fits(const struct rank_match *match)
{
    return match->timed >= RECORDER_PAIRS_LEAST && match->left_over * ODD_CALLS <= match->pairs &&
           (size_t)match->sizes.count * ODD_CALLS <= match->pairs;
}

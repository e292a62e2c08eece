/* Accessors of a loaded job, its release, and the transfer times of pairs. */
#include "job/job.h"
#include "base/base.h"
#include "job/internal.h"
#include "model/model.h"
#include "store/store.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * The number of operations that share a delay. It is one in excerpts, since clocks may have drifted apart
 * across a break, and where they drift apart quickly.
 */
static inline size_t delay_block(const struct job *job, const struct job_rank *rank)
{
    return job->excerpt_count || rank->clock_drift != 0 ? 1 : JOB_DELAY_BLOCK;
}

const char *job_tag(const struct job *job, int32_t tag)
{
    return tag >= 0 ? intern_text(&job->tags, tag) : NULL;
}

int64_t job_delay(const struct job *job, const struct job_operation *operation)
{
    const struct job_rank *rank = &job->ranks[operation->rank];
    size_t number = (size_t)(operation - job->operations) - rank->first;
    return rank->has_gpu_clock ? rank->delays_ns[number / delay_block(job, rank)] : 0;
}

int job_is_aligned(const struct job_rank *rank)
{
    return rank->clock_method != CLOCK_NONE && rank->clock_method != CLOCK_CONTRADICTORY;
}

int64_t job_common_host_time(const struct job_rank *rank, int64_t host_ns)
{
    if (host_ns == TIME_UNKNOWN || !job_is_aligned(rank))
        return TIME_UNKNOWN;
    return align_scaled(rank->clock_scale, rank->clock_origin_ns, host_ns) + rank->clock_offset_ns;
}

int64_t job_rough_time(const struct job *job, const struct job_operation *operation, int64_t time_ns)
{
    const struct job_rank *rank = &job->ranks[operation->rank];
    if (time_ns == TIME_UNKNOWN || !(job_is_aligned(rank) || rank->has_rough_clock))
        return TIME_UNKNOWN;
    return align_scaled(rank->clock_scale, rank->clock_origin_ns, time_ns + job_delay(job, operation)) +
           rank->clock_offset_ns;
}

int64_t job_common_time(const struct job *job, const struct job_operation *operation, int64_t time_ns)
{
    if (time_ns == TIME_UNKNOWN)
        return TIME_UNKNOWN;
    return job_common_host_time(&job->ranks[operation->rank], time_ns + job_delay(job, operation));
}

int64_t *job_next_starts(const struct job *job)
{
    int64_t *next = array_new(job->operation_count, sizeof *next);
    for (size_t i = 0; next && i < job->operation_count; i++)
        next[i] = TIME_UNKNOWN;
    for (size_t i = 0; next && i < job->operation_count; i++)
        if (job->operations[i].previous >= 0)
            next[job->operations[i].previous] = job->operations[i].start_ns;
    return next;
}

int64_t job_operation_id(const struct job *job, size_t operation)
{
    return id_runs_at(&job->operation_ids, (size_t)job->read_order[operation]);
}

struct run_ranks job_run_ranks(const struct job *job)
{
    if (!job->rank_count)
        return (struct run_ranks){.expected = job->expected_ranks};
    return (struct run_ranks){.global_ranks = &job->ranks->global_rank,
                              .process_ids = &job->ranks->process_id,
                              .bytes = sizeof *job->ranks,
                              .count = job->rank_count,
                              .expected = job->expected_ranks};
}

int32_t job_rank_numbered(const struct job *job, int64_t global_rank)
{
    struct run_ranks ranks = job_run_ranks(job);
    return run_rank_numbered(&ranks, global_rank);
}

int32_t job_rank_in(const struct job *job, int64_t communicator, int64_t number)
{
    struct run_ranks ranks = job_run_ranks(job);
    return run_rank_in(&ranks, &job->communicators[communicator], number);
}

size_t job_silent_ranks(const struct job *job)
{
    size_t count = 0;
    for (size_t i = 0; i < job->rank_count; i++)
        count += job->ranks[i].count == 0;
    return count;
}

size_t job_recorded_ranks(const struct job *job)
{
    return job->rank_count - job_silent_ranks(job);
}

int64_t job_sequence(const struct job *job, const struct job_operation *operation)
{
    return job->instances[operation->instance].sequence;
}

static int32_t source_of(const struct job *job, size_t operation)
{
    int32_t source = job->sources ? job->sources[operation] : -1;
    return source < 0 && job->described ? job->described[operation] : source;
}

/* The place that members of an instance record, if all that record one agree; -1. */
static int32_t common_source(const struct job *job, const struct job_instance *instance)
{
    int32_t common = -1;
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t source = source_of(job, (size_t)job->instance_members[instance->first_member + (uint32_t)i]);
        if (source >= 0 && common >= 0 && source != common)
            return -1;
        common = source >= 0 ? source : common;
    }
    return common;
}

const char *job_source(const struct job *job, size_t operation)
{
    int32_t source = source_of(job, operation);
    if (source < 0 && job->described && job->operations[operation].kind != OPERATION_POINT_TO_POINT)
        source = common_source(job, &job->instances[job->operations[operation].instance]);
    return source >= 0 ? intern_text(&job->tags, source) : NULL;
}

void job_drafts_release(struct job_drafts *drafts)
{
    free(drafts->issued_ns);
    free(drafts->free_ns);
    free(drafts->durations_ns);
    free(drafts->stamps_ns);
    free(drafts->numbers);
    free(drafts->noticed_ns);
    free(drafts->notices);
    free(drafts->sent);
    free(drafts->streams);
    free(drafts->stream_ids);
    *drafts = (struct job_drafts){0};
}

void job_release(struct job *job)
{
    for (size_t i = 0; i < job->rank_count; i++) {
        free(job->ranks[i].name);
        free(job->ranks[i].delays_ns);
        roster_facts_release(&job->ranks[i].facts);
    }
    for (size_t i = 0; i < job->communicator_count; i++)
        job_communicator_release(&job->communicators[i]);
    roster_release(&job->roster);
    free(job->excerpts);
    free(job->step_numbers);
    free(job->step_source);
    free(job->run_name);
    free(job->ranks);
    free(job->communicators);
    free(job->operations);
    id_runs_release(&job->operation_ids);
    free(job->read_order);
    job_drafts_release(&job->drafts);
    free(job->initial_sync_ns);
    free(job->gpu_busy_ns);
    free(job->gpu_overlap_ns);
    free(job->sources);
    free(job->described);
    free(job->calls);
    free(job->progress);
    free(job->starts);
    free(job->warnings);
    free(job->holds);
    free(job->instances);
    free(job->instance_members);
    free(job->traffic);
    free(job->services);
    free(job->arrivals);
    free(job->operations_of_step);
    free(job->by_step);
    free(job->step_end);
    intern_release(&job->tags);
    *job = (struct job){0};
}

int32_t job_last_of_group(const struct job *job, int32_t member)
{
    int32_t group = job->operations[member].group, last = member;
    for (size_t i = (size_t)group; i < job->operation_count && job->operations[i].group == group; i++)
        if (job->drafts.free_ns[i] > job->drafts.free_ns[last])
            last = (int32_t)i;
    return last;
}

/* Whether two sends or receives without times have the number of one call. */
static int have_one_number(const struct job *job, size_t before, size_t after)
{
    const int64_t *numbers = job->drafts.numbers;
    return numbers && numbers[before] != COUNT_UNKNOWN && numbers[before] == numbers[after] &&
           job->operations[before].communicator == job->operations[after].communicator;
}

int job_same_group(const struct job *job, size_t before, size_t after)
{
    const struct job_operation *first = &job->operations[before], *then = &job->operations[after];
    int64_t first_ns = job->drafts.issued_ns[before], then_ns = job->drafts.issued_ns[after];
    if (first->rank != then->rank || !function_is_point_to_point(first->function) ||
        !function_is_point_to_point(then->function))
        return 0;
    if (first_ns == TIME_UNKNOWN)
        return have_one_number(job, before, after);
    return first_ns == then_ns || (first->communicator == then->communicator && then_ns != TIME_UNKNOWN &&
                                   then_ns < first->enqueued_ns);
}

int job_records_calls(const struct job *job, int32_t rank)
{
    const struct job_rank *of = &job->ranks[rank];
    for (size_t i = of->first; i < of->first + of->count; i++)
        if (job->operations[i].enqueued_ns != TIME_UNKNOWN)
            return 1;
    return 0;
}

int job_is_grouped(const struct job *job, int32_t operation)
{
    int32_t group = job->operations[operation].group;
    return !job->operations[operation].stamped &&
           (group != operation ||
            ((size_t)operation + 1 < job->operation_count && job->operations[operation + 1].group == group));
}

int64_t job_duration(const struct job_operation *operation)
{
    if (operation->start_ns == TIME_UNKNOWN || operation->end_ns == TIME_UNKNOWN)
        return TIME_UNKNOWN;
    return operation->end_ns > operation->start_ns ? operation->end_ns - operation->start_ns : 0;
}

int64_t job_received_ns(const struct job *job, const struct job_instance *instance)
{
    for (int32_t i = 0; instance->function == FUNCTION_SEND && i < instance->members; i++) {
        int32_t at = job_member_at(job, instance, i);
        const struct job_operation *member = &job->operations[at];
        int64_t duration = job_duration(member);
        int is_told = member->ends == ENDS_BY_PROXY || member->stamped ||
                      (member->ends != ENDS_BY_HOST && !member->incomplete);
        if (member->function == FUNCTION_RECV && is_told && duration != TIME_UNKNOWN &&
            !job_is_grouped(job, at))
            return duration;
    }
    return INT64_MAX;
}

/*
 * A sending kernel is done when its data is in buffers. The transfer time of a pair shows in its network
 * steps: it is the time during which at least one step was on the wire. Waiting for the receiver does not
 * count, nor does what was on the wire before the receiver arrived, since no one takes it there.
 */
static void measure_by_steps(struct job *job)
{
    for (size_t i = 0; i < job->traffic_count; i++) {
        const struct job_traffic *traffic = &job->traffic[i];
        struct job_instance *instance = &job->instances[job->operations[traffic->operation].instance];
        int64_t received_ns = job_received_ns(job, instance);
        int64_t busy_ns = traffic->busy_ns < received_ns ? traffic->busy_ns : received_ns;
        if (!traffic->by_receiver && instance->function == FUNCTION_SEND && busy_ns > instance->transfer_ns)
            instance->transfer_ns = busy_ns;
    }
}

/*
 * Clocks are aligned well enough if their uncertainty is less than this fraction (1/4) of the measured time.
 */
enum { CLOCKS_PART = 4 };

/*
 * Without network steps, the transfer is the time from when both sides had arrived to the end of the receive,
 * if their clocks are aligned well enough. A start that is assumed does not show when a side arrived: it may
 * have computed since.
 */
static void measure_pair_by_clocks(struct job *job, struct job_instance *instance)
{
    const struct job_operation *send = NULL, *receive = NULL;
    for (int32_t i = 0; i < instance->members; i++) {
        const struct job_operation *member = job_member(job, instance, i);
        *(member->function == FUNCTION_SEND ? &send : &receive) = member;
    }
    if (!send || !receive || send->start_ns == TIME_UNKNOWN || receive->start_ns == TIME_UNKNOWN ||
        receive->end_ns == TIME_UNKNOWN || receive->ends == ENDS_ESTIMATED || send->inferred ||
        receive->inferred)
        return;
    int64_t sent = job_common_time(job, send, send->start_ns);
    int64_t began = job_common_time(job, receive, receive->start_ns);
    int64_t ended = job_common_time(job, receive, receive->end_ns);
    if (sent == TIME_UNKNOWN || began == TIME_UNKNOWN)
        return;
    int64_t transfer = ended - (sent > began ? sent : began);
    int64_t doubt = job_clock_uncertainty(job, send->rank, receive->rank);
    if (send->rank != receive->rank && transfer > instance->transfer_ns && doubt < transfer / CLOCKS_PART)
        instance->transfer_ns = transfer;
}

/* Stops of one kernel are recorded within this time of each other. */
enum { SAME_STOP_NS = 1000 };

/* The operations of a group call, sorted by end, to find those that share a stop. */
struct stops {
    struct sort_entry *items; /* owned */
    struct sort_entry *scratch;
    size_t count;
};

/* The operation on the other side of a pair; NULL if absent. */
static const struct job_operation *other_side(const struct job *job, const struct job_operation *operation)
{
    const struct job_instance *instance = &job->instances[operation->instance];
    for (int32_t i = 0; operation->instance >= 0 && i < instance->members; i++)
        if (job_member(job, instance, i)->rank != operation->rank)
            return job_member(job, instance, i);
    return NULL;
}

/*
 * The time from when the last of the other sides arrived to a stop that several sends and receives share. By
 * the clocks if they are precise enough, otherwise at most the shortest stay of the other sides.
 */
static int64_t shared_transfer_ns(const struct job *job, const struct stops *stops, size_t first, size_t end)
{
    const struct job_operation *stopped = &job->operations[stops->items[end - 1].index];
    int64_t at_ns = job_common_time(job, stopped, stopped->end_ns), shortest_ns = job_duration(stopped);
    for (size_t i = first; i < end; i++) {
        const struct job_operation *other = other_side(job, &job->operations[stops->items[i].index]);
        int64_t stay_ns = other ? job_duration(other) : TIME_UNKNOWN;
        int64_t came_ns = other ? job_common_time(job, other, other->start_ns) : TIME_UNKNOWN;
        int64_t doubt_ns = other ? job_clock_uncertainty(job, stopped->rank, other->rank) : 0;
        int64_t since_ns = at_ns != TIME_UNKNOWN && came_ns != TIME_UNKNOWN ? at_ns - came_ns : TIME_UNKNOWN;
        /* A peer that arrived after the stop was only sent to; no operation waited for it. */
        if (since_ns != TIME_UNKNOWN && since_ns <= 0)
            continue;
        if (since_ns != TIME_UNKNOWN && doubt_ns < since_ns / CLOCKS_PART)
            stay_ns = since_ns;
        if (stay_ns != TIME_UNKNOWN && stay_ns < shortest_ns)
            shortest_ns = stay_ns;
    }
    return shortest_ns;
}

static void limit_receives(struct job *job, const struct stops *stops, size_t first, size_t end)
{
    int64_t most_ns = end - first > 1 ? shared_transfer_ns(job, stops, first, end) : INT64_MAX;
    for (size_t i = first; i < end; i++) {
        const struct job_operation *operation = &job->operations[stops->items[i].index];
        struct job_instance *instance = &job->instances[operation->instance];
        if (operation->function == FUNCTION_RECV && instance->transfer_ns > most_ns)
            instance->transfer_ns = most_ns;
    }
}

/*
 * Lists the operations of the group at index `group` whose kernel has a stop. Returns the index after the
 * group.
 */
static size_t list_stops(const struct job *job, size_t group, struct stops *stops)
{
    size_t at = group;
    stops->count = 0;
    for (; at < job->operation_count && job->operations[at].group == (int32_t)group; at++) {
        const struct job_operation *operation = &job->operations[at];
        if (function_is_point_to_point(operation->function) && operation->ends == ENDS_BY_KERNEL &&
            operation->instance >= 0 && job_duration(operation) != TIME_UNKNOWN)
            stops->items[stops->count++] = (struct sort_entry){operation->end_ns, (int32_t)at};
    }
    return at > group ? at : group + 1;
}

static size_t longest_group(const struct job *job)
{
    size_t longest = 0, count = 0;
    for (size_t at = 0; at < job->operation_count; at++) {
        int goes_on = at > 0 && job->operations[at].group == job->operations[at - 1].group;
        count = goes_on ? count + 1 : 1;
        longest = count > longest ? count : longest;
    }
    return longest;
}

/*
 * Sends and receives of one group call may be one kernel with one stop, as in an all-to-all. The stop of a
 * receive is then when the last of all peers had arrived, and the time until then is not part of its
 * transfer.
 */
static int limit_shared_stops(struct job *job)
{
    size_t longest = longest_group(job);
    if (longest < 2)
        return 0;
    struct stops stops = {array_new(longest, sizeof *stops.items), array_new(longest, sizeof *stops.scratch),
                          0};
    int has_memory = stops.items && stops.scratch;
    for (size_t group = 0; has_memory && group < job->operation_count;) {
        size_t next = list_stops(job, group, &stops);
        if (stops.count > 1)
            sort_entries(stops.items, stops.scratch, stops.count);
        for (size_t first = 0, end = 1; first < stops.count; first = end++) {
            while (end < stops.count && stops.items[end].key - stops.items[end - 1].key <= SAME_STOP_NS)
                end++;
            limit_receives(job, &stops, first, end);
        }
        group = next;
    }
    free(stops.items);
    free(stops.scratch);
    return has_memory ? 0 : -1;
}

int job_measure_pairs(struct job *job)
{
    if (job->traffic_count) {
        measure_by_steps(job);
        return 0;
    }
    for (size_t i = 0; i < job->instance_count; i++)
        if (job->instances[i].function == FUNCTION_SEND)
            measure_pair_by_clocks(job, &job->instances[i]);
    return limit_shared_stops(job);
}

#include "base/ids.h"
#include "job/loader.h"

#include "base/array.h"
#include "base/map.h"

#include <stdlib.h>

/*
 * Puts all times of a rank on one device timeline and measures own time: the gap between an operation's start
 * and the end of the one before it on its stream.
 */

/*
 * Host clock minus GPU clock, as the least seen over a block of operations and its neighbours: the host
 * notices a start late, never early, and the two clocks drift apart slowly.
 */
struct host_delays {
    int64_t *least; /* per block */
    size_t count;
};

static void take_neighbours(struct host_delays *delays)
{
    int64_t before = TIME_UNKNOWN;
    for (size_t i = 0; i < delays->count; i++) {
        int64_t here = delays->least[i], least = here;
        if (before != TIME_UNKNOWN && (least == TIME_UNKNOWN || before < least))
            least = before;
        if (i + 1 < delays->count && delays->least[i + 1] != TIME_UNKNOWN &&
            (least == TIME_UNKNOWN || delays->least[i + 1] < least))
            least = delays->least[i + 1];
        before = here;
        delays->least[i] = least;
    }
}

/* Blocks without any delay take that of the nearest block before, or else after. */
static int fill_gaps(struct host_delays *delays)
{
    size_t known = 0;
    while (known < delays->count && delays->least[known] == TIME_UNKNOWN)
        known++;
    if (known == delays->count)
        return 0;
    int64_t last = delays->least[known];
    for (size_t i = 0; i < delays->count; i++) {
        if (delays->least[i] == TIME_UNKNOWN)
            delays->least[i] = last;
        last = delays->least[i];
    }
    return 1;
}

static int measure_delays(const struct job *job, const struct job_rank *rank, struct host_delays *delays)
{
    delays->count = rank->count / JOB_DELAY_BLOCK + 1;
    delays->least = array_new(delays->count, sizeof *delays->least);
    if (!delays->least)
        return -1;
    for (size_t i = 0; i < delays->count; i++)
        delays->least[i] = TIME_UNKNOWN;
    for (size_t i = 0; i < rank->count; i++) {
        int64_t delay = job->operations[rank->first + i].recorded.noticed_ns;
        int64_t *least = &delays->least[i / JOB_DELAY_BLOCK];
        if (delay != TIME_UNKNOWN && (*least == TIME_UNKNOWN || delay < *least))
            *least = delay;
    }
    take_neighbours(delays);
    return 0;
}

static void map_time(int64_t *time, int64_t delay)
{
    if (*time != TIME_UNKNOWN)
        *time -= delay;
}

/* An operation without kernel events has its device times from the host, in a rank that has a GPU clock. */
static void map_operation(struct job_operation *operation, struct job_draft *draft, int64_t delay)
{
    int by_gpu = operation->recorded.noticed_ns != TIME_UNKNOWN || operation->ends == ENDS_BY_KERNEL;
    map_time(&operation->recorded.issued_ns, delay);
    map_time(&operation->enqueued_ns, delay);
    if (!by_gpu)
        map_time(&operation->start_ns, delay);
    if (operation->ends == ENDS_BY_PROXY || operation->ends == ENDS_BY_HOST)
        map_time(&operation->end_ns, delay);
    map_time(&draft->free_ns, delay);
    if (draft->free_ns < operation->end_ns)
        draft->free_ns = operation->end_ns;
}

static int map_rank(struct job *job, struct job_rank *rank)
{
    struct host_delays delays;
    size_t first = rank->first, end = rank->first + rank->count;
    if (measure_delays(job, rank, &delays))
        return -1;
    rank->has_gpu_clock = fill_gaps(&delays);
    rank->delays_ns = delays.least;
    while (first < end && job->operations[first].recorded.issued_ns == TIME_UNKNOWN)
        first++;
    rank->first_issued_ns = first < end ? job->operations[first].recorded.issued_ns : 0;
    for (size_t i = rank->first; i < end; i++)
        map_operation(&job->operations[i], &job->drafts[i], job_delay(job, &job->operations[i]));
    return 0;
}

struct stream_end {
    uint64_t stream;
    int32_t newest; /* of the group under way, the one that was issued last */
    int32_t last;   /* and the one that ends last */
    int32_t before; /* of the group before it, likewise */
};

/*
 * Where a trace names no streams, operations of different communicators that overlap on the device cannot
 * share one: then each communicator counts as a stream. A few pairs in so many may seem to overlap by the
 * rough times of hosts.
 */
enum { MOST_OVERLAPS = 10 };

static int communicators_overlap(const struct job *job, const struct job_rank *rank)
{
    size_t overlaps = 0, pairs = 0;
    for (size_t i = 1; i < rank->count; i++) {
        const struct job_operation *before = &job->operations[rank->first + i - 1];
        const struct job_operation *after = before + 1;
        if (job->operations[rank->first + i].recorded.stream || before->communicator == after->communicator ||
            before->end_ns == TIME_UNKNOWN || after->start_ns == TIME_UNKNOWN ||
            before->start_ns == TIME_UNKNOWN)
            continue;
        pairs++;
        overlaps += after->start_ns < before->start_ns + (before->end_ns - before->start_ns) / 2;
    }
    return overlaps * MOST_OVERLAPS > pairs;
}

static uint64_t stream_of(const struct job *job, size_t at, int by_communicator)
{
    if (job->operations[at].recorded.stream)
        return job->operations[at].recorded.stream;
    return by_communicator ? (uint64_t)job->operations[at].communicator + 1 : 0;
}

/* The operation of a group that held the stream longest, as far as is known by now. */
static int32_t last_of_group(const struct job *job, int32_t member)
{
    int32_t group = job->operations[member].group, last = member;
    for (size_t i = (size_t)group; i < job->operation_count && job->operations[i].group == group; i++)
        if (job->drafts[i].free_ns > job->drafts[last].free_ns)
            last = (int32_t)i;
    return last;
}

/*
 * An operation of which only the duration is recorded began when the one before it on its stream had ended
 * and it was enqueued.
 */
static void infer_start(struct job *job, size_t at)
{
    struct job_operation *operation = &job->operations[at];
    struct job_draft *draft = &job->drafts[at];
    if (operation->start_ns != TIME_UNKNOWN || operation->recorded.duration_ns == TIME_UNKNOWN ||
        operation->previous < 0)
        return;
    operation->previous = last_of_group(job, operation->previous);
    const struct job_operation *previous = &job->operations[operation->previous];
    if (previous->end_ns == TIME_UNKNOWN)
        return;
    operation->start_ns =
        previous->end_ns > operation->enqueued_ns ? previous->end_ns : operation->enqueued_ns;
    operation->end_ns = draft->free_ns = operation->start_ns + operation->recorded.duration_ns;
    operation->ends = ENDS_BY_HOST;
    operation->inferred = 1;
}

static void measure_own(struct job *job, struct job_operation *operation)
{
    operation->own_ns = TIME_UNKNOWN;
    if (operation->previous < 0 || operation->start_ns == TIME_UNKNOWN || operation->inferred ||
        &job->operations[operation->group] != operation)
        return;
    /* Where starts are inferred, ends of a group are known only now. */
    if (job->operations[operation->previous].inferred)
        operation->previous = last_of_group(job, operation->previous);
    int64_t free_ns = job->drafts[operation->previous].free_ns;
    if (free_ns == TIME_UNKNOWN)
        return;
    operation->own_ns = operation->start_ns - free_ns;
    /* Ends that are not the kernel's own are seen late: the next kernel may have begun by then. */
    if (operation->own_ns < 0)
        operation->own_ns = 0;
}

/* Of streams that an operation may have waited for, so many operations back are looked at. */
enum { LOOK_BACK = 64 };

/* When an operation was over: its end, or when it let go of its stream if that was later. */
static int64_t over_ns(const struct job *job, size_t at)
{
    int64_t hold = -1;
    if (job->operations[at].held)
        hold = find_id(job->holds, job->hold_count, sizeof *job->holds, job->hold_count, (int64_t)at);
    return hold < 0 ? job->operations[at].end_ns : job->holds[hold].until_ns;
}

int64_t job_idle_time(const struct job *job, const struct job_operation *operation)
{
    if (operation->own_ns == TIME_UNKNOWN || !job->ranks[operation->rank].has_streams)
        return operation->own_ns;
    size_t at = (size_t)(operation - job->operations), first = job->ranks[operation->rank].first;
    int64_t free_ns = operation->start_ns - operation->own_ns;
    for (size_t i = at; i-- > first && at - i <= LOOK_BACK;) {
        int64_t other_ns = over_ns(job, i);
        /* Clocks do not tell exactly until when: not longer than it ran, then. */
        if (other_ns > operation->start_ns)
            other_ns = job->operations[i].end_ns;
        if (other_ns != TIME_UNKNOWN && job->operations[i].group != operation->group && other_ns > free_ns &&
            other_ns <= operation->start_ns)
            free_ns = other_ns;
    }
    return operation->start_ns - free_ns;
}

int64_t job_lateness(const struct job *job, const struct job_operation *operation)
{
    int64_t idle_ns = job_idle_time(job, operation);
    if (idle_ns == TIME_UNKNOWN || operation->enqueued_ns == TIME_UNKNOWN)
        return TIME_UNKNOWN;
    int64_t free_ns = operation->start_ns - idle_ns;
    int64_t late_ns = operation->enqueued_ns > free_ns ? operation->enqueued_ns - free_ns : 0;
    return late_ns < idle_ns ? late_ns : idle_ns;
}

int job_same_group(const struct job *job, size_t before, size_t after)
{
    const struct job_operation *first = &job->operations[before], *then = &job->operations[after];
    int64_t first_ns = job->operations[before].recorded.issued_ns,
            then_ns = job->operations[after].recorded.issued_ns;
    return first->rank == then->rank && function_is_point_to_point(first->function) &&
           function_is_point_to_point(then->function) && first_ns != TIME_UNKNOWN &&
           (first_ns == then_ns || (then_ns != TIME_UNKNOWN && then_ns < first->enqueued_ns));
}

static void chain_operation(struct job *job, struct stream_end *end, int32_t at)
{
    struct job_operation *operation = &job->operations[at];
    if (end->newest >= 0 && job_same_group(job, (size_t)end->newest, (size_t)at)) {
        operation->group = job->operations[end->last].group;
        if (job->drafts[at].free_ns > job->drafts[end->last].free_ns)
            end->last = at;
    } else {
        operation->group = at;
        end->before = end->last;
        end->last = at;
    }
    end->newest = at;
    operation->previous = end->before;
}

/* The streams of a rank, as they come. */
struct streams {
    struct stream_end *ends; /* owned */
    size_t count;
    size_t capacity;
    struct map numbers; /* stream -> its index in ends */
};

/* NULL when memory is out. */
static struct stream_end *end_of(struct streams *streams, uint64_t stream)
{
    int added;
    int64_t *number = map_put(&streams->numbers, (struct map_key){{stream}}, (int64_t)streams->count, &added);
    if (!number)
        return NULL;
    if (!added)
        return &streams->ends[*number];
    if (array_reserve((void **)&streams->ends, &streams->capacity, streams->count + 1, sizeof *streams->ends))
        return NULL;
    streams->ends[streams->count] = (struct stream_end){stream, -1, -1, -1};
    return &streams->ends[streams->count++];
}

static int chain_rank(struct job *job, struct job_rank *rank)
{
    struct streams streams = {0};
    struct stream_end *end = NULL;
    int by_communicator = communicators_overlap(job, rank), failed = 0;
    map_init(&streams.numbers);
    for (size_t i = rank->first; !failed && i < rank->first + rank->count; i++) {
        uint64_t stream = stream_of(job, i, by_communicator);
        if (!end || end->stream != stream)
            end = end_of(&streams, stream);
        failed = !end;
        if (!failed)
            chain_operation(job, end, (int32_t)i);
    }
    rank->has_streams = streams.count > 1;
    map_release(&streams.numbers);
    free(streams.ends);
    return failed ? -1 : 0;
}

int job_is_grouped(const struct job *job, int32_t operation)
{
    int32_t group = job->operations[operation].group;
    return group != operation ||
           ((size_t)operation + 1 < job->operation_count && job->operations[operation + 1].group == group);
}

int64_t job_duration(const struct job_operation *operation)
{
    if (operation->start_ns == TIME_UNKNOWN || operation->end_ns == TIME_UNKNOWN)
        return TIME_UNKNOWN;
    return operation->end_ns > operation->start_ns ? operation->end_ns - operation->start_ns : 0;
}

/* The shortest duration is the transfer only where the waiting of all members is in their durations. */
static void measure_transfer(struct job *job, struct job_instance *instance)
{
    int known = 0;
    int64_t shortest = TIME_UNKNOWN;
    for (int32_t i = 0; i < instance->members; i++) {
        int64_t duration = job_duration(job_member(job, instance, i));
        if (duration == TIME_UNKNOWN)
            continue;
        known++;
        if (shortest == TIME_UNKNOWN || duration < shortest)
            shortest = duration;
    }
    if (known == instance->members && (known >= 2 || instance->expected == 1))
        instance->transfer_ns = shortest;
}

int64_t job_received_ns(const struct job *job, const struct job_instance *instance)
{
    for (int32_t i = 0; instance->function == FUNCTION_SEND && i < instance->members; i++) {
        int32_t at = job_member_at(job, instance, i);
        const struct job_operation *member = &job->operations[at];
        int64_t duration = job_duration(member);
        int is_told = member->ends == ENDS_BY_PROXY || (member->ends != ENDS_BY_HOST && !member->incomplete);
        if (member->function == FUNCTION_RECV && is_told && duration != TIME_UNKNOWN &&
            !job_is_grouped(job, at))
            return duration;
    }
    return INT64_MAX;
}

/*
 * A sending kernel is done once its data is in buffers: how long the transfer of a pair took shows in its
 * network steps, as the time in which at least one was on the wire. Waiting for the receiver is no part of
 * it, nor is what was on the wire before that came: nobody takes it there.
 */
static void measure_pairs(struct job *job)
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

/* Clocks are aligned well enough where they may be off by less than one part in so many of what they tell. */
enum { CLOCKS_PART = 4 };

/*
 * Otherwise it is the time from when both sides were there to the end of the receive, where their clocks are
 * aligned well enough to tell.
 */
static void measure_pair_by_clocks(struct job *job, struct job_instance *instance)
{
    const struct job_operation *send = NULL, *receive = NULL;
    for (int32_t i = 0; i < instance->members; i++) {
        const struct job_operation *member = job_member(job, instance, i);
        *(member->function == FUNCTION_SEND ? &send : &receive) = member;
    }
    if (!send || !receive || send->start_ns == TIME_UNKNOWN || receive->start_ns == TIME_UNKNOWN ||
        receive->end_ns == TIME_UNKNOWN)
        return;
    int64_t sent = job_common_time(job, send, send->start_ns);
    int64_t began = job_common_time(job, receive, receive->start_ns);
    int64_t ended = job_common_time(job, receive, receive->end_ns);
    if (sent == TIME_UNKNOWN || began == TIME_UNKNOWN)
        return;
    int64_t transfer = ended - (sent > began ? sent : began);
    int64_t doubt = job_clock_doubt(job, send->rank, receive->rank);
    if (send->rank != receive->rank && transfer > instance->transfer_ns && doubt < transfer / CLOCKS_PART)
        instance->transfer_ns = transfer;
}

/* What the drafts say of the few that held their stream longest is still asked for. */
static int keep_holds(struct job *job)
{
    for (size_t i = 0; i < job->operation_count; i++)
        job->hold_count += job->operations[i].held;
    job->holds = array_new(job->hold_count, sizeof *job->holds);
    if (!job->holds)
        return -1;
    for (size_t i = 0, count = 0; i < job->operation_count; i++)
        if (job->operations[i].held)
            job->holds[count++] = (struct job_hold){(int64_t)i, job->drafts[i].free_ns};
    return 0;
}

/* The findings take the place of what was recorded. */
static void forget_records(struct job *job)
{
    for (size_t i = 0; i < job->operation_count; i++) {
        struct job_operation *operation = &job->operations[i];
        operation->late_beyond_ns = TIME_UNKNOWN;
        operation->beyond_ns = operation->excess_ns = operation->hidden_ns = 0;
    }
    free(job->drafts);
    job->drafts = NULL;
}

int job_build_timelines(struct job *job, struct error *error)
{
    int failed = 0;
    for (size_t i = 0; !failed && i < job->rank_count; i++)
        failed = map_rank(job, &job->ranks[i]) || chain_rank(job, &job->ranks[i]);
    if (failed)
        return error_no_memory(error);
    for (size_t i = 0; i < job->operation_count; i++) {
        infer_start(job, i);
        measure_own(job, &job->operations[i]);
    }
    int mended;
    if (job_align_clocks(job, error) || job_mend_ends(job, &mended, error))
        return -1;
    for (size_t i = 0; mended && i < job->operation_count; i++) {
        struct job_operation *operation = &job->operations[i], *head = &job->operations[operation->group];
        if (operation == head && operation->previous >= 0)
            operation->previous = last_of_group(job, operation->previous);
        operation->previous = head->previous;
        measure_own(job, operation);
    }
    if (keep_holds(job))
        return error_no_memory(error);
    forget_records(job);
    for (size_t i = 0; i < job->instance_count; i++)
        measure_transfer(job, &job->instances[i]);
    if (job->traffic_count)
        measure_pairs(job);
    else
        for (size_t i = 0; i < job->instance_count; i++)
            if (job->instances[i].function == FUNCTION_SEND)
                measure_pair_by_clocks(job, &job->instances[i]);
    return 0;
}

/*
 * Builds the timelines of a loaded run: device times, streams and groups, aligned clocks, corrected ends, own
 * times and transfers. It calls device_time.c, stamped_times.c, clock_alignment.c, early_stops.c,
 * shared_kernels.c and arrival.c in this order.
 */
#include "base/base.h"
#include "job/internal.h"
#include "job/job.h"
#include "job/load.h"
#include "model/model.h"

#include <stdlib.h>

struct stream_end {
    uint64_t stream;
    int32_t newest; /* operation of the current group that was issued last */
    int32_t last;   /* operation of the current group that ends last */
    int32_t before; /* operation of the previous group that ends last */
};

/* The recorded stream; 0 if none is recorded. */
static uint64_t named_stream(const struct job *job, size_t at)
{
    return job->drafts.streams ? job->drafts.stream_ids[job->drafts.streams[at]] : 0;
}

/*
 * If no streams are recorded, operations of different communicators that overlap on the device cannot share a
 * stream. Then each communicator counts as one stream, and if its sends overlap with its receives, each of
 * these. With the imprecise times of hosts, up to one pair in MOST_OVERLAPS may seem to overlap.
 */
enum { MOST_OVERLAPS = 10 };
enum streams_by { BY_RANK, BY_COMMUNICATOR, BY_DIRECTION };

/* When half of an operation was over, at the earliest; TIME_UNKNOWN. */
static int64_t half_of(const struct job *job, size_t at)
{
    const struct job_operation *operation = &job->operations[at];
    int64_t end_ns = job_stamped_end(job, at);
    if (end_ns != TIME_UNKNOWN)
        return end_ns - job->ranks[operation->rank].dump_interval_ns - job_draft_duration(job, at) / 2;
    return operation->start_ns == TIME_UNKNOWN || operation->end_ns == TIME_UNKNOWN
               ? TIME_UNKNOWN
               : operation->start_ns + (operation->end_ns - operation->start_ns) / 2;
}

/* When an operation began at the latest; TIME_UNKNOWN. */
static int64_t start_of(const struct job *job, size_t at)
{
    int64_t end_ns = job_stamped_end(job, at);
    return end_ns == TIME_UNKNOWN ? job->operations[at].start_ns : end_ns - job_draft_duration(job, at);
}

/* Consecutive operations without a recorded stream: [0] of different communicators, [1] of one communicator.
 */
struct overlaps {
    size_t overlaps[2];
    size_t pairs[2];
};

static void count_overlaps(const struct job *job, const struct job_rank *rank, struct overlaps *counted)
{
    for (size_t i = rank->first + 1; i < rank->first + rank->count; i++) {
        const struct job_operation *before = &job->operations[i - 1], *after = &job->operations[i];
        int64_t half_ns = half_of(job, i - 1), start_ns = start_of(job, i);
        int is_same = before->communicator == after->communicator;
        if (named_stream(job, i) || half_ns == TIME_UNKNOWN || start_ns == TIME_UNKNOWN ||
            (is_same && (before->function == after->function || job_same_group(job, i - 1, i))))
            continue;
        counted->pairs[is_same]++;
        counted->overlaps[is_same] += start_ns < half_ns;
    }
}

/*
 * Where stamps bound the times, those of ranks whose dumps are late do not show what overlaps. So all ranks
 * with stamps are counted together.
 */
static void count_stamped_overlaps(const struct job *job, struct overlaps *counted)
{
    for (size_t i = 0; i < job->rank_count; i++)
        if (job->ranks[i].dump_interval_ns)
            count_overlaps(job, &job->ranks[i], counted);
}

static enum streams_by find_overlaps(const struct job *job, const struct job_rank *rank,
                                     const struct overlaps *of_stamped)
{
    struct overlaps own = *of_stamped;
    if (!rank->dump_interval_ns) {
        own = (struct overlaps){{0}, {0}};
        count_overlaps(job, rank, &own);
    }
    return own.overlaps[1] * MOST_OVERLAPS > own.pairs[1]   ? BY_DIRECTION
           : own.overlaps[0] * MOST_OVERLAPS > own.pairs[0] ? BY_COMMUNICATOR
                                                            : BY_RANK;
}

static uint64_t stream_of(const struct job *job, size_t at, enum streams_by by)
{
    const struct job_operation *operation = &job->operations[at];
    if (named_stream(job, at))
        return named_stream(job, at);
    uint64_t communicator = (uint64_t)operation->communicator + 1;
    return by == BY_RANK ? 0
                         : communicator * 2 + (by == BY_DIRECTION && operation->function == FUNCTION_RECV);
}

static void chain_operation(struct job *job, struct stream_end *end, int32_t at)
{
    struct job_operation *operation = &job->operations[at];
    if (end->newest >= 0 && job_same_group(job, (size_t)end->newest, (size_t)at)) {
        operation->group = job->operations[end->last].group;
        if (job->drafts.free_ns[at] > job->drafts.free_ns[end->last])
            end->last = at;
    } else {
        operation->group = at;
        end->before = end->last;
        end->last = at;
    }
    end->newest = at;
    operation->previous = end->before;
}

/* The streams of a rank, in the order of appearance. */
struct streams {
    struct stream_end *ends; /* owned */
    size_t count;
    size_t capacity;
    struct map numbers; /* stream -> index in ends */
};

/* Returns NULL when out of memory. */
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

/* Operations after a break have no previous operation before it. */
static void cut_at_break(const struct job *job, int32_t step, struct streams *streams, size_t *excerpt)
{
    size_t here = step < 0 || !job->excerpt_count ? *excerpt : job_excerpt_of(job, step);
    for (size_t i = 0; here != *excerpt && i < streams->count; i++)
        streams->ends[i] = (struct stream_end){streams->ends[i].stream, -1, -1, -1};
    *excerpt = here;
}

/*
 * Finds the groups of a rank's operations, and the previous operation of each on its stream. Returns -1 when
 * out of memory.
 */
static int job_chain_rank(struct job *job, struct job_rank *rank, const struct overlaps *of_stamped)
{
    struct streams streams = {0};
    size_t excerpt = 0;
    struct stream_end *end = NULL;
    enum streams_by by = find_overlaps(job, rank, of_stamped);
    int failed = 0;
    map_init(&streams.numbers);
    for (size_t i = rank->first; !failed && i < rank->first + rank->count; i++) {
        uint64_t stream = stream_of(job, i, by);
        cut_at_break(job, job->operations[i].step, &streams, &excerpt);
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

/*
 * The latest time at which the kernel of a group may have ended, on its rank's device timeline; indexed by
 * its first operation.
 */
struct bounds {
    int64_t *over_ns;    /* owned; its end, or the start of the next operation of its stream; TIME_UNKNOWN */
    unsigned char *told; /* owned; over_ns is its recorded end */
};

static int bounds_init(struct bounds *bounds, const struct job *job)
{
    size_t count = job->operation_count;
    *bounds =
        (struct bounds){.over_ns = array_new(count, sizeof *bounds->over_ns), .told = array_new(count, 1)};
    if (!bounds->over_ns || !bounds->told)
        return -1;
    for (size_t i = 0; i < count; i++)
        bounds->over_ns[i] = TIME_UNKNOWN;
    for (size_t i = 0; i < count; i++) {
        int32_t group = job->operations[i].group;
        if (job->operations[i].end_ns == TIME_UNKNOWN)
            continue;
        bounds->told[group] = 1;
        if (job->drafts.free_ns[i] > bounds->over_ns[group])
            bounds->over_ns[group] = job->drafts.free_ns[i];
    }
    for (size_t i = 0; i < count; i++) {
        const struct job_operation *operation = &job->operations[i];
        int32_t before = operation->previous < 0 ? -1 : job->operations[operation->previous].group;
        if (before >= 0 && operation->group == (int32_t)i && !bounds->told[before])
            bounds->over_ns[before] = operation->start_ns;
    }
    return 0;
}

static void bounds_release(struct bounds *bounds)
{
    free(bounds->over_ns);
    free(bounds->told);
}

/* The bound of an operation in common time. */
static int64_t bound_of(const struct job *job, const struct bounds *bounds,
                        const struct job_operation *operation)
{
    int64_t over_ns = bounds->over_ns[operation->group];
    return over_ns == TIME_UNKNOWN ? TIME_UNKNOWN : job_common_time(job, operation, over_ns);
}

/* The latest time at which an instance may have ended, in common time; TIME_UNKNOWN. */
static int64_t instance_over(const struct job *job, const struct bounds *bounds,
                             const struct job_instance *instance)
{
    int64_t least_ns = TIME_UNKNOWN;
    int is_pair = instance->function == FUNCTION_SEND;
    if ((!is_pair && !function_is_full_exchange(instance->function)) ||
        instance->members < instance->expected)
        return TIME_UNKNOWN;
    for (int32_t i = 0; i < instance->members; i++) {
        int64_t over_ns = bound_of(job, bounds, job_member(job, instance, i));
        if (over_ns != TIME_UNKNOWN && (least_ns == TIME_UNKNOWN || over_ns < least_ns))
            least_ns = over_ns;
    }
    return least_ns;
}

/*
 * A pair without a recorded end: how long after both sides had arrived it was over at the latest. If the next
 * operation of a side follows immediately, this is the time of the transfer.
 */
struct pair_time {
    int64_t bytes;
    int64_t took_ns; /* may be negative if clocks are off */
    int32_t sender;
    int32_t receiver;
    int32_t instance;
};

static int by_link_and_time(const void *left, const void *right)
{
    const struct pair_time *a = left, *b = right;
    if (a->sender != b->sender)
        return a->sender < b->sender ? -1 : 1;
    if (a->receiver != b->receiver)
        return a->receiver < b->receiver ? -1 : 1;
    return a->bytes != b->bytes ? compare_integers(a->bytes, b->bytes)
                                : compare_integers(a->took_ns, b->took_ns);
}

/*
 * When the later side of a pair arrived, in common time. TIME_UNKNOWN if that is not known, and if the end of
 * a side is recorded.
 */
static int64_t both_came(const struct job *job, const struct bounds *bounds,
                         const struct job_instance *instance)
{
    int64_t last_ns = TIME_UNKNOWN;
    for (int32_t i = 0; i < instance->members; i++) {
        const struct job_operation *member = job_member(job, instance, i);
        int is_shown = !member->inferred && !bounds->told[member->group];
        int64_t start_ns = is_shown ? job_common_time(job, member, member->start_ns) : TIME_UNKNOWN;
        if (start_ns == TIME_UNKNOWN)
            return TIME_UNKNOWN;
        last_ns = last_ns == TIME_UNKNOWN || start_ns > last_ns ? start_ns : last_ns;
    }
    return last_ns;
}

static size_t list_pairs(const struct job *job, const struct bounds *bounds, const int64_t *over_ns,
                         struct pair_time *pairs)
{
    size_t count = 0;
    for (size_t i = 0; i < job->instance_count; i++) {
        const struct job_instance *instance = &job->instances[i];
        int is_pair = instance->function == FUNCTION_SEND && over_ns[i] != TIME_UNKNOWN;
        int64_t came_ns = is_pair ? both_came(job, bounds, instance) : TIME_UNKNOWN;
        if (came_ns != TIME_UNKNOWN)
            pairs[count++] = (struct pair_time){.bytes = job_member(job, instance, 0)->bytes,
                                                .took_ns = over_ns[i] - came_ns,
                                                .sender = instance->sender,
                                                .receiver = instance->receiver,
                                                .instance = (int32_t)i};
    }
    array_sort(pairs, count, sizeof *pairs, by_link_and_time);
    return count;
}

static size_t count_alike(const struct pair_time *pairs, size_t count)
{
    size_t alike = 1;
    while (alike < count && pairs[alike].sender == pairs->sender &&
           pairs[alike].receiver == pairs->receiver && pairs[alike].bytes == pairs->bytes)
        alike++;
    return alike;
}

/* In a quarter of the equal pairs of two ranks, at least, one side goes on soon. */
enum { USUAL_PART = 4 };

/*
 * What a side does after a pair delays its next operation, but is no part of the pair. So a pair is over when
 * both sides had arrived and the usual time had passed. Returns -1 when out of memory.
 */
static int end_pairs(const struct job *job, const struct bounds *bounds, const int64_t *over_ns,
                     int64_t *ends_ns)
{
    struct pair_time *pairs = array_new(job->instance_count, sizeof *pairs);
    if (!pairs)
        return -1;
    size_t count = list_pairs(job, bounds, over_ns, pairs), alike;
    for (size_t i = 0; i < count; i += alike) {
        alike = count_alike(&pairs[i], count - i);
        int64_t usual_ns = pairs[i + alike / USUAL_PART].took_ns;
        for (size_t j = i; j < i + alike; j++)
            if (pairs[j].took_ns > usual_ns)
                ends_ns[pairs[j].instance] -= pairs[j].took_ns - usual_ns;
    }
    free(pairs);
    return 0;
}

/* The latest end of the operations of a group, on the timeline of its rank; TIME_UNKNOWN. */
static int64_t group_over(const struct job *job, const struct bounds *bounds, const int64_t *instances_over,
                          size_t head)
{
    const struct job_operation *first = &job->operations[head];
    int64_t last_ns = TIME_UNKNOWN, bound_ns = bounds->over_ns[head];
    int64_t common_ns = job_common_time(job, first, bound_ns);
    for (size_t i = head; i < job->operation_count && job->operations[i].group == first->group; i++) {
        const struct job_operation *operation = &job->operations[i];
        int64_t over_ns = operation->instance < 0 ? TIME_UNKNOWN : instances_over[operation->instance];
        if (operation->start_ns == TIME_UNKNOWN || over_ns == TIME_UNKNOWN)
            return TIME_UNKNOWN;
        last_ns = last_ns == TIME_UNKNOWN || over_ns > last_ns ? over_ns : last_ns;
    }
    if (common_ns == TIME_UNKNOWN || last_ns == TIME_UNKNOWN)
        return TIME_UNKNOWN;
    int64_t end_ns = bound_ns + (last_ns - common_ns);
    end_ns = end_ns < bound_ns ? end_ns : bound_ns;
    /* Not at its start: there, only what the operation itself waited for ends (replay.c). */
    return end_ns > first->start_ns ? end_ns : first->start_ns + 1;
}

/*
 * Sets the end of a group, and when its stream was certainly free, from where own time counts: before that,
 * its rank may have waited.
 */
static void end_group(struct job *job, size_t head, int64_t end_ns, int64_t free_ns)
{
    int32_t group = job->operations[head].group;
    for (size_t i = head; i < job->operation_count && job->operations[i].group == group; i++) {
        job->operations[i].end_ns = end_ns;
        job->operations[i].ends = ENDS_ESTIMATED;
        job->drafts.free_ns[i] = free_ns;
    }
}

/* Whether most kernels have no recorded end. `told` is that of their first operations. */
static int are_most_ends_unknown(const struct job *job, const struct bounds *bounds)
{
    size_t kernels = 0, untold = 0;
    for (size_t i = 0; i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (operation->group != (int32_t)i || operation->start_ns == TIME_UNKNOWN)
            continue;
        kernels++;
        untold += !bounds->told[i] && operation->incomplete;
    }
    return untold * 2 > kernels;
}

int job_estimate_ends(struct job *job, int *estimated)
{
    struct bounds bounds;
    int64_t *over_ns = array_new(job->instance_count, sizeof *over_ns);
    int64_t *ends_ns = array_new(job->instance_count, sizeof *ends_ns);
    int failed = bounds_init(&bounds, job) || !over_ns || !ends_ns;
    *estimated = 0;
    int is_wanted = !failed && are_most_ends_unknown(job, &bounds);
    for (size_t i = 0; is_wanted && i < job->instance_count; i++)
        over_ns[i] = ends_ns[i] = instance_over(job, &bounds, &job->instances[i]);
    failed = failed || (is_wanted && end_pairs(job, &bounds, over_ns, ends_ns));
    for (size_t i = 0; is_wanted && i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (operation->group != (int32_t)i || bounds.told[i] || !operation->incomplete ||
            bounds.over_ns[i] == TIME_UNKNOWN)
            continue;
        int64_t end_ns = group_over(job, &bounds, ends_ns, i), free_ns = group_over(job, &bounds, over_ns, i);
        if (end_ns == TIME_UNKNOWN || free_ns == TIME_UNKNOWN)
            continue;
        end_group(job, i, end_ns, free_ns);
        *estimated = 1;
    }
    bounds_release(&bounds);
    free(over_ns);
    free(ends_ns);
    return failed ? -1 : 0;
}

/*
 * The main sequence: converts the times of each rank to one device timeline, and measures own time, which is
 * the gap between the start of an operation and the end of the previous one on its stream.
 */

/* The few operations that occupied their stream longer keep that time from the drafts. */
static int keep_holds(struct job *job)
{
    for (size_t i = 0; i < job->operation_count; i++)
        job->hold_count += job->operations[i].held;
    job->holds = array_new(job->hold_count, sizeof *job->holds);
    if (!job->holds)
        return -1;
    for (size_t i = 0, count = 0; i < job->operation_count; i++)
        if (job->operations[i].held)
            job->holds[count++] = (struct job_hold){(int64_t)i, job->drafts.free_ns[i]};
    return 0;
}

static void drop(int64_t **list)
{
    free(*list);
    *list = NULL;
}

static int map_ranks(void *context, size_t worker, size_t first, size_t end)
{
    struct job *job = context;
    for (size_t i = first; i < end; i++)
        if (job_map_rank(job, &job->ranks[i]))
            return -1;
    return 0;
}

static void map_arrivals(struct job *job)
{
    for (size_t i = 0; i < job->arrival_count; i++) {
        struct job_arrivals *arrivals = &job->arrivals[i];
        int64_t delay_ns = job_delay(job, &job->operations[arrivals->operation]);
        arrivals->first_ns -= delay_ns;
        arrivals->last_ns -= delay_ns;
    }
}

static int measure_dumps(void *context, size_t worker, size_t first, size_t end)
{
    struct job *job = context;
    for (size_t i = first; i < end; i++)
        if (job_measure_dumps(job, &job->ranks[i]))
            return -1;
    return 0;
}

struct chaining {
    struct job *job;
    struct overlaps of_stamped;
};

static int chain_ranks(void *context, size_t worker, size_t first, size_t end)
{
    const struct chaining *chaining = context;
    for (size_t i = first; i < end; i++)
        if (job_chain_rank(chaining->job, &chaining->job->ranks[i], &chaining->of_stamped))
            return -1;
    return 0;
}

/*
 * Sets the start of an operation of which only the duration is recorded: when the previous operation on its
 * stream had ended and it was enqueued.
 */
static void infer_start(struct job *job, size_t at)
{
    struct job_operation *operation = &job->operations[at];
    int64_t duration_ns = job_draft_duration(job, at);
    if (operation->start_ns != TIME_UNKNOWN || duration_ns == TIME_UNKNOWN || operation->previous < 0)
        return;
    operation->previous = job_last_of_group(job, operation->previous);
    const struct job_operation *previous = &job->operations[operation->previous];
    if (previous->end_ns == TIME_UNKNOWN)
        return;
    operation->start_ns =
        previous->end_ns > operation->enqueued_ns ? previous->end_ns : operation->enqueued_ns;
    operation->end_ns = job->drafts.free_ns[at] = operation->start_ns + duration_ns;
    operation->ends = ENDS_BY_HOST;
    operation->inferred = 1;
}

/* Sets the own time of an operation, from what is known about its stream. */
static void measure_own(struct job *job, struct job_operation *operation)
{
    operation->own_ns = TIME_UNKNOWN;
    if (operation->previous < 0 || operation->start_ns == TIME_UNKNOWN ||
        (operation->inferred && !operation->stamped) || &job->operations[operation->group] != operation)
        return;
    /* If starts are inferred, the ends of a group are only known now. */
    if (job->operations[operation->previous].inferred)
        operation->previous = job_last_of_group(job, operation->previous);
    int64_t free_ns = job->drafts.free_ns[operation->previous];
    if (free_ns == TIME_UNKNOWN)
        return;
    operation->own_ns = operation->start_ns - free_ns;
    /* Ends that are not from a kernel are noticed late, so the next kernel may have begun before. */
    if (operation->own_ns < 0)
        operation->own_ns = 0;
}

/* An operation that is placed by its stamp began when its stream was free and it was enqueued, or later. */
static void correct_stamped(struct job *job, const struct job_rank *rank, size_t at)
{
    struct job_operation *operation = &job->operations[at];
    if (!operation->stamped)
        return;
    if (operation->previous >= 0)
        operation->previous = job_last_of_group(job, operation->previous);
    if (operation->group == (int32_t)at)
        job_delay_stamped(job, rank, at);
}

static int infer_ranks(void *context, size_t worker, size_t first, size_t end)
{
    struct job *job = context;
    for (size_t i = first; i < end; i++) {
        const struct job_rank *rank = &job->ranks[i];
        if (job_place_by_stamps(job, rank))
            return -1;
        for (size_t at = rank->first; at < rank->first + rank->count; at++) {
            correct_stamped(job, rank, at);
            infer_start(job, at);
            measure_own(job, &job->operations[at]);
        }
    }
    return 0;
}

/* Measures own times again, after the ends of operations or of their predecessors have changed. */
static int measure_ranks_again(void *context, size_t worker, size_t first, size_t end)
{
    struct job *job = context;
    for (size_t i = first; i < end; i++)
        for (size_t at = job->ranks[i].first; at < job->ranks[i].first + job->ranks[i].count; at++) {
            struct job_operation *operation = &job->operations[at],
                                 *head = &job->operations[operation->group];
            if (operation == head && operation->previous >= 0)
                operation->previous = job_last_of_group(job, operation->previous);
            operation->previous = head->previous;
            measure_own(job, operation);
        }
    return 0;
}

static int measure_transfers(void *context, size_t worker, size_t first, size_t end)
{
    struct job *job = context;
    for (size_t i = first; i < end; i++)
        job->instances[i].transfer_ns = arrival_transfer_ns(job, &job->instances[i]);
    return 0;
}

/* Until clocks are aligned, the timelines of ranks do not depend on each other. */
static int for_ranks(struct job *job, parallel_piece piece)
{
    return parallel_for(job->rank_count, 1, job_threads(job), piece, job);
}

/* The call times of operations and the streams are not needed after this. */
static int map_and_chain(struct job *job)
{
    int failed = for_ranks(job, map_ranks) || job_remove_misattributed_kernels(job) || job_sum_notices(job);
    if (!failed)
        map_arrivals(job);
    drop(&job->drafts.noticed_ns);
    failed = failed || (job->drafts.stamps_ns && for_ranks(job, measure_dumps));
    struct chaining chaining = {.job = job};
    count_stamped_overlaps(job, &chaining.of_stamped);
    failed = failed || parallel_for(job->rank_count, 1, job_threads(job), chain_ranks, &chaining);
    drop(&job->drafts.issued_ns);
    free(job->drafts.streams);
    job->drafts.streams = NULL;
    return failed;
}

int job_build_timelines(struct job *job, struct error *error)
{
    if (map_and_chain(job))
        return error_no_memory(error);
    int failed = for_ranks(job, infer_ranks) || (job->drafts.stamps_ns && job_note_dump_lags(job)), mended,
        estimated;
    drop(&job->drafts.durations_ns);
    drop(&job->drafts.stamps_ns);
    for (size_t i = 0; i < job->operation_count; i++)
        job->timed_operations += job->operations[i].stamped;
    if (failed)
        return error_no_memory(error);
    if (job_align_clocks(job, error) || job_correct_ends(job, &mended, error) ||
        job_correct_shared_kernels(job, &mended, error))
        return -1;
    if (job_estimate_ends(job, &estimated))
        return error_no_memory(error);
    if (((mended || estimated) && for_ranks(job, measure_ranks_again)) || keep_holds(job))
        return error_no_memory(error);
    job_drafts_release(&job->drafts);
    job_find_synced(job);
    if (parallel_for(job->instance_count, INSTANCES_A_PIECE, job_threads(job), measure_transfers, job) ||
        job_measure_pairs(job) || (!job->traffic_count && job_measure_latencies(job)))
        return error_no_memory(error);
    return 0;
}

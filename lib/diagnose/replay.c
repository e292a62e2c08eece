/*
 * Replays a job with changed own times and transfer times, to estimate what it would gain without a fault.
 * replay_order.c finds the order of the operations; cost.c and explain.c run the replays.
 */
#include "base/base.h"
#include "diagnose/delay.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

/*
 * Index of the operation of a move among the leavers, which do not wait for the other members; -1: it waits.
 */
static inline int32_t replay_leaver(const struct replay_move *move)
{
    return move->own_or_leaver < 0 ? -1 - move->own_or_leaver : -1;
}

/* The operation whose own time comes before a move: the first of its group. */
static inline int32_t replay_own(const struct replay *replay, const struct replay_move *move)
{
    return move->own_or_leaver < 0 ? replay->job->operations[move->operation].group : move->own_or_leaver;
}

/* Transfer time of a pair, grouped by sender, receiver and approximate size. */
struct pair_time {
    uint64_t pair;
    int64_t time_ns;
    size_t instance;
};

static int by_pair(const void *a, const void *b)
{
    const struct pair_time *left = a, *right = b;
    if (left->pair != right->pair)
        return left->pair < right->pair ? -1 : 1;
    return compare_integers(left->time_ns, right->time_ns);
}

/*
 * The amount of data in an exchange differs from batch to batch: sizes within a factor of two are treated as
 * equal.
 */
static uint64_t magnitude_of(int64_t bytes)
{
    uint64_t magnitude = 0;
    for (; bytes > 0; bytes /= 2)
        magnitude++;
    return magnitude;
}

/* The key of a pair, by direction. */
static uint64_t key_of(const struct job *job, const struct job_instance *instance)
{
    uint64_t key = hash_mix((uint64_t)instance->communicator, 1);
    key = hash_mix(key, (uint64_t)instance->sender);
    key = hash_mix(key, (uint64_t)instance->receiver);
    return hash_mix(key, magnitude_of(job_member(job, instance, 0)->bytes)) | 1;
}

/*
 * How long after both sides had arrived a pair without a recorded end was over at the latest, because a side
 * began its next operation; TIME_UNKNOWN if that is not known, and if an end is. `came_ns` is when both sides
 * had arrived, in common time.
 */
static int64_t time_of_unknown(const struct job *job, const struct job_instance *instance,
                               const int64_t *next, int64_t *came_ns)
{
    int64_t over_ns = TIME_UNKNOWN;
    *came_ns = TIME_UNKNOWN;
    if (instance->function != FUNCTION_SEND || instance->members != 2)
        return TIME_UNKNOWN;
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t at = job_member_at(job, instance, i);
        const struct job_operation *member = &job->operations[at];
        int64_t start_ns = job_common_time(job, member, member->start_ns);
        int64_t next_ns = job_common_time(job, member, next[at]);
        if (member->end_ns != TIME_UNKNOWN || member->inferred || start_ns == TIME_UNKNOWN ||
            job_is_grouped(job, at))
            return TIME_UNKNOWN;
        *came_ns = start_ns > *came_ns ? start_ns : *came_ns;
        if (next_ns != TIME_UNKNOWN && (over_ns == TIME_UNKNOWN || next_ns < over_ns))
            over_ns = next_ns;
    }
    return over_ns == TIME_UNKNOWN ? TIME_UNKNOWN : over_ns - *came_ns;
}

/* Ends the members of a pair at this common time, but not before they began. */
static void end_pair(const struct job *job, const struct job_instance *instance, int64_t over_ns,
                     int64_t *ends)
{
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t at = job_member_at(job, instance, i);
        const struct job_operation *member = &job->operations[at];
        int64_t stay_ns = over_ns - job_common_time(job, member, member->start_ns);
        /* Not at its start: there, only what the operation itself waited for ends. */
        ends[at] = member->start_ns + (stay_ns > 0 ? stay_ns : 1);
    }
}

/* The number of entries at the start of a sorted list that are of the same pair. */
static size_t count_equal(const struct pair_time *times, size_t count)
{
    size_t equal = 1;
    while (equal < count && times[equal].pair == times->pair)
        equal++;
    return equal;
}

/* In a quarter of the equal pairs of two ranks, at least, one side goes on soon after the transfer. */
enum { USUAL_PART = 4 };

/*
 * Estimates the ends of pairs that no recorder shows: what a side does after a pair delays its next
 * operation, but is no part of the pair. Ends that are known are left as they are. -1 when memory runs out.
 */
static int estimate_ends(const struct job *job, int64_t *ends)
{
    size_t count = 0;
    int64_t *next = job_next_starts(job), came_ns;
    struct pair_time *times = array_new(job->instance_count, sizeof *times);
    for (size_t i = 0; next && times && i < job->instance_count; i++) {
        int64_t took_ns = time_of_unknown(job, &job->instances[i], next, &came_ns);
        if (took_ns != TIME_UNKNOWN)
            times[count++] = (struct pair_time){key_of(job, &job->instances[i]), took_ns, i};
    }
    array_sort(times, count, sizeof *times, by_pair);
    for (size_t i = 0, equal; i < count; i += equal) {
        equal = count_equal(&times[i], count - i);
        int64_t usual_ns = times[i + (equal - 1) / USUAL_PART].time_ns;
        for (size_t j = i; j < i + equal; j++) {
            const struct job_instance *instance = &job->instances[times[j].instance];
            int64_t took_ns = time_of_unknown(job, instance, next, &came_ns);
            end_pair(job, instance, came_ns + (took_ns < usual_ns ? took_ns : usual_ns), ends);
        }
    }
    int failed = !next || !times;
    free(next);
    free(times);
    return failed ? -1 : 0;
}

/*
 * Fills in the ends of operations. An unknown end is the next start on the stream. A send whose end no kernel
 * recorded ends no later than that. An operation that held its stream beyond its end ends when it released
 * the stream.
 */
static void fill_ends(const struct job *job, const struct job_rank *rank, int64_t *ends)
{
    for (size_t i = rank->first; i < rank->first + rank->count; i++) {
        int32_t previous = job->operations[i].previous;
        int64_t start_ns = job->operations[i].start_ns;
        if (previous < 0 || start_ns == TIME_UNKNOWN)
            continue;
        int outlives = job->operations[previous].function == FUNCTION_SEND &&
                       job->operations[previous].ends != ENDS_BY_KERNEL && ends[previous] > start_ns &&
                       start_ns >= job->operations[previous].start_ns;
        if (ends[previous] == TIME_UNKNOWN || outlives)
            ends[previous] = start_ns;
        if (job->operations[previous].held && job->operations[i].own_ns != TIME_UNKNOWN)
            ends[previous] = start_ns - job->operations[i].own_ns;
    }
}

/* Starts and ends of the operations of a rank, sorted; with room for the rank with most operations. */
struct moments {
    struct sort_entry *starts; /* owned, as are those below */
    struct sort_entry *stops;
    struct sort_entry *scratch;
};

static size_t list_moments(const struct job *job, const struct job_rank *rank, const int64_t *ends,
                           struct sort_entry *moments, struct sort_entry *scratch)
{
    size_t count = 0;
    for (size_t i = rank->first; i < rank->first + rank->count; i++) {
        int64_t time = ends ? ends[i] : job->operations[i].start_ns;
        if (time != TIME_UNKNOWN)
            moments[count++] = (struct sort_entry){time, (int32_t)i};
    }
    sort_entries(moments, scratch, count);
    return count;
}

/*
 * Each operation follows the one that had ended last when it started; where times are unknown, the one before
 * it.
 */
static void find_order(struct replay *replay, const struct job_rank *rank, const struct moments *moments)
{
    const struct job *job = replay->job;
    const int64_t *ends = replay->ends;
    const struct sort_entry *starts = moments->starts, *stops = moments->stops;
    size_t start_count = list_moments(job, rank, NULL, moments->starts, moments->scratch),
           stop_count = list_moments(job, rank, ends, moments->stops, moments->scratch);
    int32_t last = -1;
    for (size_t i = rank->first; i < rank->first + rank->count; i++)
        replay->after[i] = job->operations[i].previous;
    for (size_t i = 0, j = 0; i < start_count; i++) {
        for (; j < stop_count && stops[j].key <= starts[i].key; j++)
            last = stops[j].index;
        int32_t at = starts[i].index, previous = job->operations[at].previous;
        if (last >= 0 && last != at &&
            (previous < 0 || (ends[previous] != TIME_UNKNOWN && ends[last] > ends[previous] &&
                              job->operations[last].group != job->operations[previous].group)))
            replay->after[at] = last;
    }
    for (size_t i = rank->first; i < rank->first + rank->count; i++)
        replay->after[i] = replay->after[job->operations[i].group];
}

static void take_own_times(struct replay *replay, const struct job_rank *rank)
{
    const struct job *job = replay->job;
    const int64_t *ends = replay->ends;
    for (size_t i = rank->first; i < rank->first + rank->count; i++) {
        const struct job_operation *operation = &job->operations[i];
        int32_t after = replay->after[i];
        const struct job_operation *first = &job->operations[job->ranks[operation->rank].first];
        int64_t since = after >= 0 ? ends[after] : first->start_ns;
        int known =
            operation->start_ns != TIME_UNKNOWN && since != TIME_UNKNOWN && operation->start_ns > since;
        replay->own_ns[i] = known ? operation->start_ns - since : 0;
        /*
         * A receive may hold the stream for longer than its kernel records. Its transfer contains that time.
         */
        if (after >= 0 && after == operation->previous && job->operations[after].function == FUNCTION_RECV &&
            job->operations[after].ends != ENDS_ESTIMATED && operation->own_ns != TIME_UNKNOWN &&
            operation->own_ns < replay->own_ns[i])
            replay->own_ns[i] = operation->own_ns;
        /* Lateness of hidden origin that was attributed to the rank. */
        if (operation->own_ns == TIME_UNKNOWN && excess_ns_at(replay->excess, i) > replay->own_ns[i])
            replay->own_ns[i] = excess_ns_at(replay->excess, i);
    }
}

/*
 * Data sent before the receive begins are partly transferred by then. For the receiver the transfer takes no
 * longer than its receive. The end of a receive that shares its kernel is unknown.
 */
static int64_t still_to_come(const struct job *job, const struct job_instance *instance, const int64_t *ends,
                             int64_t transfer_ns)
{
    for (int32_t i = 0; instance->function == FUNCTION_SEND && i < instance->members; i++) {
        int32_t at = job_member_at(job, instance, i);
        const struct job_operation *receive = &job->operations[at];
        if (receive->function != FUNCTION_RECV || receive->start_ns == TIME_UNKNOWN ||
            ends[at] == TIME_UNKNOWN || job_is_grouped(job, at))
            continue;
        int64_t duration = ends[at] > receive->start_ns ? ends[at] - receive->start_ns : 0;
        if (duration < transfer_ns)
            transfer_ns = duration;
    }
    return transfer_ns;
}

static int take_transfers(void *context, size_t worker, size_t first, size_t end)
{
    struct replay *replay = context;
    const struct job *job = replay->job;
    const int64_t *ends = replay->ends;
    for (size_t i = first; i < end; i++) {
        const struct job_instance *instance = &job->instances[i];
        int64_t shortest = instance->transfer_ns;
        for (int32_t j = 0; instance->transfer_ns == TIME_UNKNOWN && j < instance->members; j++) {
            int32_t at = job_member_at(job, instance, j);
            int64_t end_ns = ends[at], start_ns = job->operations[at].start_ns;
            if (end_ns == TIME_UNKNOWN || start_ns == TIME_UNKNOWN)
                continue;
            if (shortest == TIME_UNKNOWN || end_ns - start_ns < shortest)
                shortest = end_ns - start_ns;
        }
        shortest = shortest == TIME_UNKNOWN || shortest < 0 ? 0 : shortest;
        replay->transfer_ns[i] = still_to_come(job, instance, ends, shortest);
        replay->tail_ns[i] = replay->transfers[i].some_ns;
    }
    return 0;
}

/*
 * In the replay, an operation that held its stream beyond its end is over after its transfer and the time for
 * which a slow link held it. The rest of the hold has no known cause; it becomes own time of the next
 * operation.
 */
static int take_holds(void *context, size_t worker, size_t first, size_t end)
{
    struct replay *replay = context;
    const struct job *job = replay->job;
    const int64_t *ends = replay->ends;
    for (size_t i = first; i < end; i++) {
        int32_t after = replay->after[i];
        if (after < 0 || !job->operations[after].held || ends[after] == TIME_UNKNOWN)
            continue;
        const struct job_operation *held = &job->operations[after];
        int64_t beyond_ns = ends[after] - held->end_ns - replay->tail_ns[held->instance];
        if (beyond_ns > 0)
            replay->own_ns[i] += beyond_ns;
    }
    return 0;
}

/* The key of a pair if all members of the instance share their kernels with others; 0: not such a pair. */
static uint64_t pair_in_groups(const struct job *job, const struct job_instance *instance)
{
    if (instance->function != FUNCTION_SEND || instance->members < 2)
        return 0;
    for (int32_t i = 0; i < instance->members; i++)
        if (!job_is_grouped(job, job_member_at(job, instance, i)))
            return 0;
    return key_of(job, instance);
}

/*
 * Limits the times of one pair, which are sorted, to their lower quartile, because some may include a wait in
 * most steps.
 */
static void bound_pair(struct replay *replay, const struct pair_time *times, size_t count)
{
    int64_t usual_ns = times[(count - 1) / 4].time_ns;
    for (size_t i = 0; i < count; i++) {
        const struct transfer_excess *transfer = &replay->transfers[times[i].instance];
        int is_slow = transfer->slow_ns > 0 && transfer->has_slow_link;
        if (!is_slow && times[i].time_ns > usual_ns)
            replay->transfer_ns[times[i].instance] = usual_ns;
    }
}

/*
 * If both sides share their kernels with other transfers, either may have waited for one of these. Unless a
 * link is known to be slow, the transfer time is limited to its baseline.
 */
static int bound_groups(struct replay *replay)
{
    const struct job *job = replay->job;
    size_t count = 0;
    struct pair_time *times = array_new(job->instance_count, sizeof *times);
    for (size_t i = 0; times && i < job->instance_count; i++) {
        uint64_t pair = pair_in_groups(job, &job->instances[i]);
        if (pair)
            times[count++] = (struct pair_time){pair, replay->transfer_ns[i], i};
    }
    array_sort(times, count, sizeof *times, by_pair);
    for (size_t i = 0, equal; i < count; i += equal) {
        equal = count_equal(&times[i], count - i);
        bound_pair(replay, &times[i], equal);
    }
    int failed = times == NULL;
    free(times);
    return failed;
}

/* The key of a transfer: its function, size, and number of members. */
static uint64_t kind_of(const struct job *job, const struct job_instance *instance)
{
    uint64_t key = hash_mix((uint64_t)instance->function, (uint64_t)instance->expected);
    return hash_mix(key, (uint64_t)job_member(job, instance, 0)->bytes);
}

/* Whether a member left no trace. */
static int is_incomplete(const struct job_instance *instance)
{
    return instance->members > 0 && instance->members < instance->expected;
}

static int has_incomplete(const struct job *job)
{
    for (size_t i = 0; i < job->instance_count; i++)
        if (is_incomplete(&job->instances[i]))
            return 1;
    return 0;
}

static int is_key_before(const void *item, const void *wanted)
{
    return ((const struct pair_time *)item)->pair < *(const uint64_t *)wanted;
}

/*
 * Where a member left no trace, the shortest duration of the others includes the time for which they waited
 * for it. Such a transfer is limited to the median of those of its kind that have all members: a replay shows
 * no gain of what the others wait for anyway.
 */
static int bound_incomplete(struct replay *replay)
{
    const struct job *job = replay->job;
    size_t count = 0;
    if (!has_incomplete(job))
        return 0;
    struct pair_time *times = array_new(job->instance_count, sizeof *times);
    replay->most_ns = array_new(job->instance_count, sizeof *replay->most_ns);
    for (size_t i = 0; times && i < job->instance_count; i++)
        if (job->instances[i].members && !is_incomplete(&job->instances[i]))
            times[count++] = (struct pair_time){kind_of(job, &job->instances[i]), replay->transfer_ns[i], i};
    array_sort(times, count, sizeof *times, by_pair);
    for (size_t i = 0; times && replay->most_ns && i < job->instance_count; i++) {
        replay->most_ns[i] = INT64_MAX;
        if (!is_incomplete(&job->instances[i]))
            continue;
        uint64_t kind = kind_of(job, &job->instances[i]);
        size_t first = lower_bound(times, count, sizeof *times, is_key_before, &kind);
        if (first < count && times[first].pair == kind)
            replay->most_ns[i] = times[first + (count_equal(&times[first], count - first) - 1) / 2].time_ns;
    }
    int failed = !times || !replay->most_ns;
    free(times);
    return failed;
}

/* The largest number of operations of a rank. */
static size_t longest_rank(const struct job *job)
{
    size_t longest = 0;
    for (size_t i = 0; i < job->rank_count; i++)
        if (job->ranks[i].count > longest)
            longest = job->ranks[i].count;
    return longest;
}

/* The measurement, with the memory of its threads. */
struct measuring {
    struct replay *replay;
    struct moments *moments; /* owned; one per thread */
    size_t threads;
};

static int measure_ranks(void *context, size_t worker, size_t first, size_t end)
{
    struct measuring *measuring = context;
    struct replay *replay = measuring->replay;
    for (size_t i = first; i < end; i++) {
        const struct job_rank *rank = &replay->job->ranks[i];
        fill_ends(replay->job, rank, replay->ends);
        find_order(replay, rank, &measuring->moments[worker]);
        if (replay->excess)
            take_own_times(replay, rank);
    }
    return 0;
}

/* With fewer ranks per thread, the memory of the threads would be large compared with that of the job. */
enum { RANKS_A_THREAD = 4, OPERATIONS_A_PIECE = 8192 };

static int measuring_init(struct measuring *measuring)
{
    const struct job *job = measuring->replay->job;
    size_t longest = longest_rank(job);
    measuring->threads = parallel_threads(job_threads(job), job->rank_count, RANKS_A_THREAD);
    measuring->moments = array_new(measuring->threads, sizeof *measuring->moments);
    for (size_t i = 0; measuring->moments && i < measuring->threads; i++) {
        struct moments *moments = &measuring->moments[i];
        *moments = (struct moments){.starts = array_new(longest, sizeof *moments->starts),
                                    .stops = array_new(longest, sizeof *moments->stops),
                                    .scratch = array_new(longest, sizeof *moments->scratch)};
        if (!moments->starts || !moments->stops || !moments->scratch)
            return -1;
    }
    return measuring->moments ? 0 : -1;
}

static void measuring_release(struct measuring *measuring)
{
    for (size_t i = 0; measuring->moments && i < measuring->threads; i++) {
        free(measuring->moments[i].starts);
        free(measuring->moments[i].stops);
        free(measuring->moments[i].scratch);
    }
    free(measuring->moments);
}

static int measure(struct replay *replay)
{
    const struct job *job = replay->job;
    struct measuring measuring = {.replay = replay};
    for (size_t i = 0; i < job->operation_count; i++)
        replay->ends[i] = job->operations[i].end_ns;
    int failed = estimate_ends(job, replay->ends) || measuring_init(&measuring) ||
                 parallel_for(job->rank_count, 1, measuring.threads, measure_ranks, &measuring);
    measuring_release(&measuring);
    if (failed || !replay->excess)
        return failed;
    return parallel_for(job->instance_count, INSTANCES_A_PIECE, job_threads(job), take_transfers, replay) ||
           parallel_for(job->operation_count, OPERATIONS_A_PIECE, job_threads(job), take_holds, replay) ||
           bound_groups(replay) || bound_incomplete(replay);
}

/*
 * Allocates what replays need. Peak memory is reached while moves are found, so this is allocated afterwards.
 */
static int make_room(struct replay *replay)
{
    replay->change_ns = array_new(replay->job->instance_count, sizeof *replay->change_ns);
    replay->latest_ns = array_new(replay->job->instance_count, sizeof *replay->latest_ns);
    return replay->change_ns && replay->latest_ns ? 0 : -1;
}

int replay_init(struct replay *replay, const struct job *job, const struct excess_list *excess,
                const struct transfer_excess *transfers, struct error *error)
{
    size_t operations = job->operation_count, timed = excess ? operations : 0,
           instances = excess ? job->instance_count : 0;
    *replay = (struct replay){.job = job,
                              .excess = excess,
                              .transfers = transfers,
                              .own_ns = array_new(timed, sizeof *replay->own_ns),
                              .transfer_ns = array_new(instances, sizeof *replay->transfer_ns),
                              .tail_ns = array_new(instances, sizeof *replay->tail_ns),
                              .after = array_new(operations, sizeof *replay->after),
                              .ends = array_new(operations, sizeof *replay->ends),
                              .receives = array_new(operations, sizeof *replay->receives)};
    int failed = !replay->own_ns || !replay->transfer_ns || !replay->tail_ns || !replay->after ||
                 !replay->ends || !replay->receives || measure(replay) || replay_list_leavers(replay);
    free(replay->ends);
    replay->ends = NULL;
    failed = failed || !(replay->moves = array_new(operations, sizeof *replay->moves)) ||
             replay_find_moves(replay);
    free(replay->after);
    replay->after = NULL;
    free(replay->receives);
    replay->receives = NULL;
    if (!failed && (!excess || !make_room(replay)))
        return 0;
    replay_release(replay);
    return error_no_memory(error);
}

void replay_release(struct replay *replay)
{
    free(replay->own_ns);
    free(replay->transfer_ns);
    free(replay->change_ns);
    free(replay->most_ns);
    free(replay->tail_ns);
    free(replay->after);
    free(replay->ends);
    free(replay->receives);
    free(replay->latest_ns);
    free(replay->moves);
    free(replay->leavers);
    *replay = (struct replay){0};
}

int64_t replay_gain_of_cuts(struct replay *replay, const int64_t *cuts)
{
    size_t count = replay->job->instance_count;
    int64_t with_ns = replay_run(replay);
    for (size_t i = 0; i < count; i++)
        if (cuts[i] > 0)
            replay_change_transfer(replay, i, -cuts[i]);
    int64_t gain_ns = with_ns - replay_run(replay);
    for (size_t i = 0; i < count; i++)
        if (cuts[i] > 0)
            replay_change_transfer(replay, i, cuts[i]);
    return gain_ns;
}

void replay_change_transfer(struct replay *replay, size_t instance, int64_t by_ns)
{
    int64_t some_ns = replay->transfers[instance].some_ns;
    int64_t tail_ns = by_ns < -some_ns ? -some_ns : by_ns > some_ns ? some_ns : by_ns;
    replay->tail_ns[instance] += tail_ns;
    replay->change_ns[instance] += by_ns - tail_ns;
}

/*
 * How much later than the transfer a member ended. A slow link delays the members behind it, each by at most
 * the difference of its duration to the shortest one.
 */
static int64_t tail_of(const struct replay *replay, int32_t number, const struct job_operation *member)
{
    const struct job_instance *instance = &replay->job->instances[number];
    int64_t tail = replay->tail_ns[number];
    if (!tail || member->held || instance->transfer_ns == TIME_UNKNOWN || member->start_ns == TIME_UNKNOWN ||
        member->end_ns == TIME_UNKNOWN)
        return tail;
    int64_t longer = member->end_ns - member->start_ns - instance->transfer_ns;
    return longer < 0 ? 0 : longer < tail ? longer : tail;
}

static int64_t transfer_of(const struct replay *replay, int32_t number)
{
    int64_t transfer_ns = replay->transfer_ns[number] + replay->change_ns[number];
    if (replay->most_ns && transfer_ns > replay->most_ns[number])
        transfer_ns = replay->most_ns[number];
    return transfer_ns > 0 ? transfer_ns : 0;
}

/* When an operation ended: with its instance, unless it did not wait for the others. */
static int64_t end_of(const struct replay *replay, const struct replay_move *move)
{
    int32_t leaver = replay_leaver(move);
    if (leaver >= 0)
        return replay->leavers[leaver].left_ns;
    int64_t end_ns = replay->latest_ns[move->instance] + transfer_of(replay, (int32_t)move->instance);
    if (replay->tail_ns[move->instance])
        end_ns += tail_of(replay, (int32_t)move->instance, &replay->job->operations[move->operation]);
    return end_ns;
}

/*
 * How long a send that does not wait takes. If its transfer is shortened, it is shortened by the same time.
 */
static int64_t time_to_leave(const struct replay *replay, const struct replay_move *move)
{
    int64_t change_ns = replay->change_ns[move->instance];
    int64_t stay_ns = replay->leavers[replay_leaver(move)].stay_ns + (change_ns < 0 ? change_ns : 0);
    return stay_ns > 0 ? stay_ns : 0;
}

/* When the last member of a complete instance ended, whether or not anything follows it. */
static int64_t end_of_instance(const struct replay *replay, int32_t number)
{
    const struct job *job = replay->job;
    const struct job_instance *instance = &job->instances[number];
    int64_t longest_ns = 0;
    for (int32_t i = 0; replay->tail_ns[number] && i < instance->members; i++) {
        int32_t member = job_member_at(job, instance, i);
        int64_t tail_ns = tail_of(replay, number, &job->operations[member]);
        if (tail_ns > longest_ns)
            longest_ns = tail_ns;
    }
    return replay->latest_ns[number] + transfer_of(replay, number) + longest_ns;
}

int64_t replay_run(struct replay *replay)
{
    int64_t last_ns = 0;
    for (size_t i = 0; i < replay->move_count; i++) {
        struct replay_move *move = &replay->moves[i];
        int32_t leaver = replay_leaver(move);
        int64_t start_ns = replay->own_ns[replay_own(replay, move)];
        if (move->after >= 0)
            start_ns += end_of(replay, &replay->moves[move->after]);
        if (leaver >= 0)
            replay->leavers[leaver].left_ns = start_ns + time_to_leave(replay, move);
        if (move->is_first || start_ns > replay->latest_ns[move->instance])
            replay->latest_ns[move->instance] = start_ns;
        if (!move->is_last)
            continue;
        int64_t end_ns = end_of_instance(replay, (int32_t)move->instance);
        if (end_ns > last_ns)
            last_ns = end_ns;
    }
    return last_ns;
}

static int64_t start_of(const struct replay *replay, const struct replay_move *move)
{
    return replay->own_ns[replay_own(replay, move)] +
           (move->after >= 0 ? end_of(replay, &replay->moves[move->after]) : 0);
}

/* The instance that ended last; -1: none. */
static int32_t last_instance(const struct replay *replay)
{
    int64_t last_ns = 0;
    int32_t last = -1;
    for (size_t i = 0; i < replay->move_count; i++)
        if (replay->moves[i].is_last &&
            end_of_instance(replay, (int32_t)replay->moves[i].instance) > last_ns) {
            last = (int32_t)replay->moves[i].instance;
            last_ns = end_of_instance(replay, last);
        }
    return last;
}

size_t replay_critical_path(const struct replay *replay, int32_t *path)
{
    size_t count = 0;
    int32_t instance = last_instance(replay), wanted = -1;
    for (size_t i = replay->move_count; i-- > 0;) {
        const struct replay_move *move = &replay->moves[i];
        int is_latest = (int32_t)move->instance == instance &&
                        start_of(replay, move) == replay->latest_ns[move->instance];
        if ((int32_t)i != wanted && !(wanted < 0 && is_latest))
            continue;
        path[count++] = replay_own(replay, move);
        if (move->after < 0)
            return count;
        int leaves = replay_leaver(&replay->moves[move->after]) >= 0;
        wanted = leaves ? move->after : -1;
        instance = leaves ? -1 : (int32_t)replay->moves[move->after].instance;
    }
    return 0;
}

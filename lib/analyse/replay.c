#include "analyse/replay.h"

#include "analyse/moment.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

/* An operation's end, or where that is unknown the next start on its stream. */
static void fill_ends(const struct job *job, int64_t *ends)
{
    for (size_t i = 0; i < job->operation_count; i++)
        ends[i] = job->operations[i].end_ns;
    for (size_t i = 0; i < job->operation_count; i++) {
        int32_t previous = job->operations[i].previous;
        if (previous >= 0 && ends[previous] == TIME_UNKNOWN)
            ends[previous] = job->operations[i].start_ns;
    }
}

static size_t list_moments(const struct job *job, const struct job_rank *rank, const int64_t *ends,
                           struct moment *moments, struct moment *scratch)
{
    size_t count = 0;
    for (size_t i = rank->first; i < rank->first + rank->count; i++) {
        int64_t time = ends ? ends[i] : job->operations[i].start_ns;
        if (time != TIME_UNKNOWN)
            moments[count++] = (struct moment){time, (int32_t)i};
    }
    moments_sort(moments, scratch, count);
    return count;
}

/* Each operation comes after the one that had ended last when it started; where times are unknown, the one
 * before. */
static void find_order(struct replay *replay, const struct job_rank *rank, const int64_t *ends,
                       struct moment *starts, struct moment *stops, struct moment *scratch)
{
    const struct job *job = replay->job;
    size_t start_count = list_moments(job, rank, NULL, starts, scratch),
           stop_count = list_moments(job, rank, ends, stops, scratch);
    int32_t last = -1;
    for (size_t i = rank->first; i < rank->first + rank->count; i++)
        replay->after[i] = job->operations[i].previous;
    for (size_t i = 0, j = 0; i < start_count; i++) {
        for (; j < stop_count && stops[j].time_ns <= starts[i].time_ns; j++)
            last = stops[j].operation;
        int32_t at = starts[i].operation, previous = job->operations[at].previous;
        if (last >= 0 && last != at &&
            (previous < 0 || (ends[previous] != TIME_UNKNOWN && ends[last] > ends[previous])))
            replay->after[at] = last;
    }
    for (size_t i = rank->first; i < rank->first + rank->count; i++)
        replay->after[i] = replay->after[job->operations[i].group];
}

static void take_own_times(struct replay *replay, const int64_t *ends)
{
    const struct job *job = replay->job;
    for (size_t i = 0; i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        int32_t after = replay->after[i];
        const struct job_operation *first = &job->operations[job->ranks[operation->rank].first];
        int64_t since = after >= 0 ? ends[after] : first->start_ns;
        int known =
            operation->start_ns != TIME_UNKNOWN && since != TIME_UNKNOWN && operation->start_ns > since;
        replay->own_ns[i] = known ? operation->start_ns - since : 0;
        /* Lateness of hidden origin that was found to be the rank's own. */
        if (operation->own_ns == TIME_UNKNOWN && operation->excess_ns > replay->own_ns[i])
            replay->own_ns[i] = operation->excess_ns;
    }
}

static void take_transfers(struct replay *replay, const int64_t *ends)
{
    const struct job *job = replay->job;
    for (size_t i = 0; i < job->instance_count; i++) {
        const struct job_instance *instance = &job->instances[i];
        int64_t shortest = instance->transfer_ns;
        for (int32_t j = 0; instance->transfer_ns == TIME_UNKNOWN && j < instance->members; j++) {
            int32_t at = job->instance_members[instance->first_member + (size_t)j];
            int64_t end = ends[at], start = job->operations[at].start_ns;
            if (end == TIME_UNKNOWN || start == TIME_UNKNOWN)
                continue;
            if (shortest == TIME_UNKNOWN || end - start < shortest)
                shortest = end - start;
        }
        replay->transfer_ns[i] = shortest == TIME_UNKNOWN || shortest < 0 ? 0 : shortest;
        if (instance->slow_for_some && instance->culprit >= 0)
            replay->tail_ns[i] = instance->slow_ns;
    }
}

static void chain(struct replay *replay)
{
    for (size_t i = 0; i < replay->job->operation_count; i++)
        replay->first_child[i] = replay->sibling[i] = -1;
    for (size_t i = 0; i < replay->job->operation_count; i++) {
        int32_t after = replay->after[i];
        if (after < 0)
            continue;
        replay->sibling[i] = replay->first_child[after];
        replay->first_child[after] = (int32_t)i;
    }
}

/* The most operations that a rank has. */
static size_t longest_rank(const struct job *job)
{
    size_t longest = 0;
    for (size_t i = 0; i < job->rank_count; i++)
        if (job->ranks[i].count > longest)
            longest = job->ranks[i].count;
    return longest;
}

static int measure(struct replay *replay)
{
    const struct job *job = replay->job;
    int64_t *ends = replay->since_ns; /* scratch until the job is played */
    size_t longest = longest_rank(job);
    struct moment *starts = array_new(longest, sizeof *starts), *stops = array_new(longest, sizeof *stops),
                  *scratch = array_new(longest, sizeof *scratch);
    int failed = !starts || !stops || !scratch;
    if (!failed) {
        fill_ends(job, ends);
        for (size_t i = 0; i < job->rank_count; i++)
            find_order(replay, &job->ranks[i], ends, starts, stops, scratch);
        take_own_times(replay, ends);
        take_transfers(replay, ends);
        chain(replay);
    }
    free(starts);
    free(stops);
    free(scratch);
    return failed;
}

int replay_init(struct replay *replay, const struct job *job, struct error *error)
{
    size_t operations = job->operation_count, instances = job->instance_count;
    *replay = (struct replay){.job = job,
                              .own_ns = array_new(operations, sizeof *replay->own_ns),
                              .transfer_ns = array_new(instances, sizeof *replay->transfer_ns),
                              .tail_ns = array_new(instances, sizeof *replay->tail_ns),
                              .after = array_new(operations, sizeof *replay->after),
                              .first_child = array_new(operations, sizeof *replay->first_child),
                              .sibling = array_new(operations, sizeof *replay->sibling),
                              .completed = array_new(instances, sizeof *replay->completed),
                              .arrived = array_new(instances, sizeof *replay->arrived),
                              .latest_ns = array_new(instances, sizeof *replay->latest_ns),
                              .ready = array_new(operations, sizeof *replay->ready),
                              .since_ns = array_new(operations, sizeof *replay->since_ns)};
    int failed = !replay->own_ns || !replay->transfer_ns || !replay->tail_ns || !replay->after ||
                 !replay->first_child || !replay->sibling || !replay->completed || !replay->arrived ||
                 !replay->latest_ns || !replay->ready || !replay->since_ns || measure(replay);
    if (!failed)
        return 0;
    replay_release(replay);
    return error_no_memory(error);
}

void replay_release(struct replay *replay)
{
    free(replay->own_ns);
    free(replay->transfer_ns);
    free(replay->tail_ns);
    free(replay->after);
    free(replay->first_child);
    free(replay->sibling);
    free(replay->completed);
    free(replay->arrived);
    free(replay->latest_ns);
    free(replay->ready);
    free(replay->since_ns);
    *replay = (struct replay){0};
}

static void follow(struct replay *replay, int32_t at, int64_t end_ns, size_t *ready)
{
    for (int32_t next = replay->first_child[at]; next >= 0; next = replay->sibling[next]) {
        replay->since_ns[next] = end_ns;
        replay->ready[(*ready)++] = next;
    }
}

void replay_change_transfer(struct replay *replay, size_t instance, int64_t by_ns)
{
    *(replay->job->instances[instance].slow_for_some ? &replay->tail_ns[instance]
                                                     : &replay->transfer_ns[instance]) += by_ns;
}

/*
 * How much later than the transfer a member ended: a slow link delays those behind it, at most by what their
 * durations are longer than the shortest.
 */
static int64_t tail_of(const struct replay *replay, int32_t number, const struct job_operation *member)
{
    const struct job_instance *instance = &replay->job->instances[number];
    int64_t tail = replay->tail_ns[number];
    if (!tail || instance->transfer_ns == TIME_UNKNOWN || member->start_ns == TIME_UNKNOWN ||
        member->end_ns == TIME_UNKNOWN)
        return tail;
    int64_t longer = member->end_ns - member->start_ns - instance->transfer_ns;
    return longer < 0 ? 0 : longer < tail ? longer : tail;
}

/* A send whose end is known is done when its data is in buffers, whenever the receiver comes. */
static int leaves_alone(const struct job_operation *operation)
{
    return operation->function == FUNCTION_SEND && operation->start_ns != TIME_UNKNOWN &&
           operation->end_ns != TIME_UNKNOWN;
}

/* An operation starts: when it is its instance's last member, all members end and their successors are ready.
 */
static void arrive(struct replay *replay, int32_t at, int64_t start_ns, size_t *ready, int64_t *last_ns)
{
    const struct job *job = replay->job;
    int32_t number = job->operations[at].instance;
    const struct job_instance *instance = &job->instances[number];
    if (!replay->arrived[number]++ || start_ns > replay->latest_ns[number])
        replay->latest_ns[number] = start_ns;
    if (leaves_alone(&job->operations[at]))
        follow(replay, at, start_ns + (job->operations[at].end_ns - job->operations[at].start_ns), ready);
    if (replay->arrived[number] < instance->members)
        return;
    replay->completed[replay->completed_count++] = number;
    int64_t end = replay->latest_ns[number] + replay->transfer_ns[number];
    if (end > *last_ns)
        *last_ns = end;
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t member = job->instance_members[instance->first_member + (size_t)i];
        int64_t tail = tail_of(replay, number, &job->operations[member]);
        if (end + tail > *last_ns)
            *last_ns = end + tail;
        if (!leaves_alone(&job->operations[member]))
            follow(replay, member, end + tail, ready);
    }
}

int64_t replay_run(struct replay *replay)
{
    const struct job *job = replay->job;
    int64_t last_ns = 0;
    size_t ready = 0;
    replay->completed_count = 0;
    memset(replay->arrived, 0, job->instance_count * sizeof *replay->arrived);
    for (size_t i = 0; i < job->operation_count; i++)
        if (replay->after[i] < 0) {
            replay->since_ns[i] = 0;
            replay->ready[ready++] = (int32_t)i;
        }
    while (ready) {
        int32_t at = replay->ready[--ready];
        arrive(replay, at, replay->since_ns[at] + replay->own_ns[job->operations[at].group], &ready,
               &last_ns);
    }
    return last_ns;
}

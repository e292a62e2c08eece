#include "analyse/replay.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

static int64_t end_or_next_start(const struct replay *replay, int32_t at)
{
    const struct job_operation *operation = &replay->job->operations[at];
    if (operation->end_ns != TIME_UNKNOWN)
        return operation->end_ns;
    int32_t next = replay->next[at];
    return next >= 0 ? replay->job->operations[next].start_ns : TIME_UNKNOWN;
}

/* Streams of one rank begin when they did, relative to each other. */
static int64_t begin_of(const struct job *job, int32_t head)
{
    const struct job_operation *operation = &job->operations[head];
    const struct job_operation *first = &job->operations[job->ranks[operation->rank].first];
    if (operation->start_ns == TIME_UNKNOWN || first->start_ns == TIME_UNKNOWN ||
        operation->start_ns < first->start_ns)
        return 0;
    return operation->start_ns - first->start_ns;
}

static void take_own_times(struct replay *replay)
{
    for (size_t i = 0; i < replay->job->operation_count; i++) {
        int64_t own = replay->job->operations[i].own_ns;
        replay->own_ns[i] = own == TIME_UNKNOWN ? replay->job->operations[i].excess_ns : own;
    }
}

static void take_transfers(struct replay *replay)
{
    const struct job *job = replay->job;
    for (size_t i = 0; i < job->instance_count; i++) {
        const struct job_instance *instance = &job->instances[i];
        int64_t shortest = instance->transfer_ns;
        for (int32_t j = 0; instance->transfer_ns == TIME_UNKNOWN && j < instance->members; j++) {
            int32_t at = job->instance_members[instance->first_member + (size_t)j];
            int64_t end = end_or_next_start(replay, at), start = job->operations[at].start_ns;
            if (end == TIME_UNKNOWN || start == TIME_UNKNOWN)
                continue;
            if (shortest == TIME_UNKNOWN || end - start < shortest)
                shortest = end - start;
        }
        replay->transfer_ns[i] = shortest == TIME_UNKNOWN || shortest < 0 ? 0 : shortest;
    }
}

static void chain(struct replay *replay)
{
    const struct job *job = replay->job;
    for (size_t i = 0; i < job->operation_count; i++)
        replay->next[i] = -1;
    for (size_t i = 0; i < job->operation_count; i++) {
        if (job->operations[i].previous < 0)
            replay->heads[replay->head_count++] = (int32_t)i;
        else if (job->operations[i].group == (int32_t)i)
            replay->next[job->operations[i].previous] = (int32_t)i;
    }
}

int replay_init(struct replay *replay, const struct job *job, struct error *error)
{
    *replay = (struct replay){.job = job};
    replay->own_ns = array_new(job->operation_count, sizeof *replay->own_ns);
    replay->next = array_new(job->operation_count, sizeof *replay->next);
    replay->heads = array_new(job->operation_count, sizeof *replay->heads);
    replay->ready = array_new(job->operation_count, sizeof *replay->ready);
    replay->since_ns = array_new(job->operation_count, sizeof *replay->since_ns);
    replay->transfer_ns = array_new(job->instance_count, sizeof *replay->transfer_ns);
    replay->completed = array_new(job->instance_count, sizeof *replay->completed);
    replay->arrived = array_new(job->instance_count, sizeof *replay->arrived);
    replay->latest_ns = array_new(job->instance_count, sizeof *replay->latest_ns);
    if (!replay->own_ns || !replay->next || !replay->heads || !replay->ready || !replay->since_ns ||
        !replay->transfer_ns || !replay->arrived || !replay->completed || !replay->latest_ns) {
        replay_release(replay);
        return error_no_memory(error);
    }
    chain(replay);
    take_own_times(replay);
    take_transfers(replay);
    return 0;
}

void replay_release(struct replay *replay)
{
    free(replay->own_ns);
    free(replay->transfer_ns);
    free(replay->next);
    free(replay->heads);
    free(replay->completed);
    free(replay->arrived);
    free(replay->latest_ns);
    free(replay->ready);
    free(replay->since_ns);
    *replay = (struct replay){0};
}

static void follow(struct replay *replay, int32_t at, int64_t end_ns, size_t *ready)
{
    const struct job *job = replay->job;
    int32_t first = replay->next[at];
    for (int32_t next = first; next >= 0 && (size_t)next < job->operation_count; next++) {
        if (job->operations[next].group != first)
            break;
        replay->since_ns[next] = end_ns;
        replay->ready[(*ready)++] = next;
    }
}

/* A send whose end is known is done when its data is in buffers, whenever the receiver comes. */
static int leaves_alone(const struct job_operation *operation)
{
    return operation->function == FUNCTION_SEND && operation->end_ns != TIME_UNKNOWN;
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
        if (!leaves_alone(&job->operations[member]))
            follow(replay, member, end, ready);
    }
}

int64_t replay_run(struct replay *replay)
{
    const struct job *job = replay->job;
    int64_t last_ns = 0;
    size_t ready = 0;
    replay->completed_count = 0;
    memset(replay->arrived, 0, job->instance_count * sizeof *replay->arrived);
    for (size_t i = 0; i < replay->head_count; i++) {
        replay->since_ns[replay->heads[i]] = begin_of(job, replay->heads[i]);
        replay->ready[ready++] = replay->heads[i];
    }
    while (ready) {
        int32_t at = replay->ready[--ready];
        arrive(replay, at, replay->since_ns[at] + replay->own_ns[job->operations[at].group], &ready,
               &last_ns);
    }
    return last_ns;
}

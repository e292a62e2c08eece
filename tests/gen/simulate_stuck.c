/*
 * A job that hangs: operations that a rank never joined proceed as far as their data allows. They are
 * simulated once more with the absent ranks arriving at the end of time; everything that would happen after
 * that never happened.
 */
#include "simulate_engine.h"

#include <stdlib.h>

#define NEVER (INT64_MAX / 4)

static struct record *absent_member(const struct record *like, int local)
{
    struct record *record = allocate(1, sizeof(*record));
    *record = *like;
    record->rank_in_communicator = local;
    record->proxy = NULL;
    record->proxy_count = 0;
    record->start = record->group_end = NEVER;
    record->end = UNKNOWN;
    return record;
}

static bool joined(const struct instance *instance, const struct record *record)
{
    return record != NULL && record->count * record->type_bytes == instance->bytes;
}

static void stick_collective(struct job *job, struct communicator *communicator, struct instance *instance)
{
    const struct record *like = NULL;
    struct record **members = instance->member;
    struct record **everybody = allocate((size_t)communicator->size, sizeof(*everybody));
    for (int i = 0; i < communicator->size; i++)
        if (joined(instance, members[i]))
            like = members[i];
    for (int i = 0; like != NULL && i < communicator->size; i++) {
        everybody[i] = joined(instance, members[i]) ? members[i] : absent_member(like, i);
        if (everybody[i]->start == UNKNOWN)
            everybody[i]->start = NEVER;
    }
    if (like != NULL) {
        instance->member = everybody;
        transfer_collective(job, communicator, instance);
        instance->member = members;
    }
    /* Absent members stay in the list of all ranks until their proxies are no longer read. */
    for (int i = 0; like != NULL && i < communicator->size; i++)
        if (everybody[i] != members[i])
            record_free(everybody[i]);
    free(everybody);
}

static void stick_pair(struct job *job, struct communicator *communicator, struct record *send,
                       struct record *recv, int ordinal)
{
    struct record *other = NULL;
    if (send == NULL)
        send = other = absent_member(recv, recv->peer);
    if (recv == NULL)
        recv = other = absent_member(send, send->peer);
    if (other != NULL)
        other->peer = other == send ? recv->rank_in_communicator : send->rank_in_communicator;
    if (send->start == UNKNOWN)
        send->start = NEVER;
    if (recv->start == UNKNOWN)
        recv->start = NEVER;
    transfer_pair(job, communicator, send, recv, ordinal);
    if (other != NULL)
        record_free(other);
}

static void stick_pairs(struct job *job, struct communicator *communicator, const struct pair_queue *pair)
{
    for (int i = pair->first; i < pair->end; i++) {
        struct record *record = pair->waiting[i];
        bool sends = record->function == FUNCTION_SEND;
        stick_pair(job, communicator, sends ? record : NULL, sends ? NULL : record,
                   pair->matched + i - pair->first);
    }
}

static int64_t forget(int64_t time)
{
    return time >= NEVER / 2 ? UNKNOWN : time;
}

static void forget_record(struct record *record)
{
    record->start = forget(record->start);
    record->end = forget(record->end);
    for (int i = 0; i < MAX_CHANNELS; i++) {
        record->channel_end[i] = forget(record->channel_end[i]);
        record->channel_stop[i] = forget(record->channel_stop[i]);
    }
    for (int i = 0; i < record->proxy_count; i++) {
        struct proxy *proxy = &record->proxy[i];
        proxy->progress = forget(proxy->progress);
        proxy->end = forget(proxy->end);
        int recorded = 0;
        for (int step = 0; proxy->step != NULL && step < proxy->recorded; step++) {
            for (int k = 0; k < 4; k++)
                proxy->step[step].time[k] = forget(proxy->step[step].time[k]);
            if (proxy->step[step].time[0] != UNKNOWN)
                recorded = step + 1;
        }
        proxy->recorded = recorded;
    }
}

void stuck_play(struct job *job)
{
    for (int i = 0; i < job->communicator_count; i++) {
        struct communicator *communicator = &job->communicators[i];
        for (int k = 0; k < communicator->instance_count; k++)
            if (communicator->instances[k]->arrived < communicator->size ||
                communicator->instances[k]->broken)
                stick_collective(job, communicator, communicator->instances[k]);
        for (int k = 0; communicator->pairs != NULL && k < communicator->size * communicator->size; k++)
            stick_pairs(job, communicator, &communicator->pairs[k]);
    }
    for (int rank = 0; rank < job->options.ranks; rank++)
        for (int i = 0; i < job->processes[rank].record_count; i++)
            forget_record(job->processes[rank].records[i]);
}

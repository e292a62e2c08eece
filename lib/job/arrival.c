#include "job/arrival.h"

#include "job/transfers.h"

int arrival_is_told(const struct job_instance *instance, enum function function)
{
    return instance->is_synced || function_is_full_exchange(function) || function == FUNCTION_SEND;
}

int64_t arrival_stay_ns(const struct job *job, int32_t operation)
{
    const struct job_operation *member = &job->operations[operation];
    if (job->instances[member->instance].is_synced)
        return job->initial_sync_ns[operation];
    if (member->start_ns == TIME_UNKNOWN || member->end_ns == TIME_UNKNOWN)
        return TIME_UNKNOWN;
    return member->end_ns - member->start_ns;
}

int32_t arrival_last(const struct job *job, const struct job_instance *instance)
{
    int32_t last = -1;
    if (instance->members < 2 || !arrival_is_told(instance, instance->function))
        return -1;
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t at = job_member_at(job, instance, i);
        if (arrival_stay_ns(job, at) == TIME_UNKNOWN)
            return -1;
        if (last < 0 || arrival_stay_ns(job, at) < arrival_stay_ns(job, last))
            last = at;
    }
    return last;
}

/* The shortest initial sync: that of the last to arrive. Of others it is all waiting beyond that. */
static int64_t shortest_sync(const struct job *job, const struct job_instance *instance)
{
    int64_t shortest_ns = job->initial_sync_ns[job_member_at(job, instance, 0)];
    for (int32_t i = 1; i < instance->members; i++) {
        int64_t sync_ns = job->initial_sync_ns[job_member_at(job, instance, i)];
        shortest_ns = sync_ns < shortest_ns ? sync_ns : shortest_ns;
    }
    return shortest_ns;
}

int64_t arrival_transfer_ns(const struct job *job, const struct job_instance *instance)
{
    int known = 0;
    int64_t transfer_ns = TIME_UNKNOWN;
    int64_t last_ns = instance->is_synced ? shortest_sync(job, instance) : 0;
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t at = job_member_at(job, instance, i);
        int64_t took_ns = job_duration(&job->operations[at]);
        /* Until the next begin is longer than a transfer, by what the fastest rank has to do before that. */
        if (took_ns == TIME_UNKNOWN || job->operations[at].ends == ENDS_ESTIMATED)
            continue;
        known++;
        if (instance->is_synced)
            took_ns -= job->initial_sync_ns[at] - last_ns;
        if (transfer_ns == TIME_UNKNOWN || took_ns < transfer_ns)
            transfer_ns = took_ns > 0 ? took_ns : 0;
    }
    int is_told = instance->is_synced ? known > 0 : known == instance->members && known >= 2;
    return is_told || (known == instance->members && instance->expected == 1) ? transfer_ns : TIME_UNKNOWN;
}

void job_find_synced(struct job *job)
{
    for (size_t i = 0; job->initial_sync_ns && i < job->instance_count; i++) {
        struct job_instance *instance = &job->instances[i];
        int32_t synced = 0;
        while (synced < instance->members && job->initial_sync_ns[job_member_at(job, instance, synced)] > 0)
            synced++;
        instance->is_synced = synced == instance->members && synced >= 2;
    }
}

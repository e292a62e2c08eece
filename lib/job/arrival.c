/*
 * Who arrived when at an operation, and how long its transfer took, from how long each member stayed in it.
 * Needs timelines, but no aligned clocks.
 */
#include "base/base.h"
#include "job/internal.h"
#include "job/job.h"
#include "job/load.h"
#include "model/model.h"
#include "store/store.h"

#include <stdlib.h>

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

int64_t arrival_margin_ns(const struct job *job, int32_t operation, int64_t most_ns)
{
    const struct job_instance *instance = &job->instances[job->operations[operation].instance];
    int64_t mine_ns = arrival_stay_ns(job, operation), nearest_ns = INT64_MAX;
    if (!arrival_is_told(instance, job->operations[operation].function))
        return 0;
    if (mine_ns == TIME_UNKNOWN || job->operations[operation].function == FUNCTION_SEND)
        return most_ns;
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t other = job_member_at(job, instance, i);
        int64_t stay_ns = arrival_stay_ns(job, other);
        if (stay_ns == TIME_UNKNOWN)
            return most_ns;
        if (other != operation && stay_ns - mine_ns < nearest_ns)
            nearest_ns = stay_ns - mine_ns;
    }
    return nearest_ns < 0 || nearest_ns == INT64_MAX ? 0 : nearest_ns < most_ns ? nearest_ns : most_ns;
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

/* The shortest initial sync, which is that of the last to arrive. Everything beyond it is waiting. */
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
        /*
         * The time until the next operation begins is longer than a transfer, by what even the fastest rank
         * does before it.
         */
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

enum { NONE_YET = -1, UNLIKE = -2 };

/*
 * Notes the first operation of a rank on a communicator. It must be the same as that of the other ranks
 * there.
 */
static void meet(int32_t *first, int32_t instance)
{
    if (*first == NONE_YET)
        *first = instance;
    else if (*first != instance)
        *first = UNLIKE;
}

/* For each communicator, the instance with which all its ranks began. NULL when out of memory. */
static int32_t *find_meetings(const struct job *job)
{
    int32_t *first = array_new(job->communicator_count, sizeof *first);
    int32_t *seen_by = array_new(job->communicator_count, sizeof *seen_by);
    for (size_t i = 0; first && seen_by && i < job->communicator_count; i++)
        first[i] = seen_by[i] = NONE_YET;
    for (size_t i = 0; first && seen_by && i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (seen_by[operation->communicator] == operation->rank)
            continue;
        seen_by[operation->communicator] = operation->rank;
        /* After steps that are not loaded, it is perhaps not the first. */
        if (job->excerpt_count && operation->step >= job->excerpts[0].end) {
            first[operation->communicator] = UNLIKE;
            continue;
        }
        meet(&first[operation->communicator], operation->instance);
    }
    if (!seen_by) {
        free(first);
        first = NULL;
    }
    free(seen_by);
    return first;
}

static struct job_start start_of(int32_t communicator, int32_t rank)
{
    return (struct job_start){.rank = rank,
                              .communicator = communicator,
                              .parent = -1,
                              .function = -1,
                              .told = START_UP_UNKNOWN,
                              .waited_ns = TIME_UNKNOWN,
                              .late_ns = TIME_UNKNOWN};
}

static size_t add_members(const struct job *job, int32_t communicator, struct job_start *starts)
{
    const struct job_communicator *of = &job->communicators[communicator];
    for (size_t i = 0; i < of->member_list_count; i++)
        starts[i] = start_of(communicator, of->member_list[i].rank);
    return of->member_list_count;
}

static size_t add_meeting(const struct job *job, int32_t communicator, const struct job_instance *instance,
                          struct job_start *starts)
{
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t at = job_member_at(job, instance, i);
        starts[i] = start_of(communicator, job->operations[at].rank);
        starts[i].waited_ns = arrival_stay_ns(job, at);
    }
    starts_compare(starts, (size_t)instance->members, start_resolution_ns(START_BY_PARTS));
    return (size_t)instance->members;
}

/* Whether the creation of a communicator is logged. Starts are sorted by communicator. */
static int is_logged(const struct job *job, int32_t communicator, size_t *at)
{
    while (*at < job->start_count && job->starts[*at].communicator < communicator)
        ++*at;
    return *at < job->start_count && job->starts[*at].communicator == communicator;
}

static size_t fill(const struct job *job, const int32_t *meetings, struct job_start *starts)
{
    size_t count = 0, at = 0;
    for (int32_t i = 0; i < (int32_t)job->communicator_count; i++) {
        const struct job_instance *meeting = meetings[i] < 0 ? NULL : &job->instances[meetings[i]];
        if (is_logged(job, i, &at))
            continue;
        int is_told = meeting && meeting->members == meeting->expected &&
                      (size_t)meeting->members == job->communicators[i].member_list_count &&
                      arrival_last(job, meeting) >= 0;
        count += is_told ? add_meeting(job, i, meeting, starts + count) : add_members(job, i, starts + count);
    }
    return count;
}

int job_first_meetings(const struct job *job, struct job_start **starts, size_t *count)
{
    size_t member_list = 0;
    int32_t *meetings = find_meetings(job);
    for (size_t i = 0; i < job->communicator_count; i++)
        member_list += job->communicators[i].member_list_count;
    *starts = meetings ? array_new(member_list, sizeof **starts) : NULL;
    *count = *starts ? fill(job, meetings, *starts) : 0;
    free(meetings);
    return *starts ? 0 : -1;
}

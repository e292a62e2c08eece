/*
 * Ranks that seem late because they wait for another rank of their host, by when records were dumped.
 *
 * The record of a leaf of a tree ends before the operation (early_stops.c). Then the leaf waits for the data
 * of another rank of its host, which is no part of its record. So if that rank is late, or its GPU is slow,
 * both come to the next operation late, and at the same time. Who never comes clearly after the other is not
 * known to be late itself. Times of dumps show this within one host, where there is one clock.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/score.h"
#include "job/job.h"

/* What is this much more than another time is clearly more. */
enum { CLEARLY = 4 };

/* How a rank of a host came to the operations of a fault. */
struct lateness {
    const struct job *job;
    const struct partition *hosts;
    int32_t rank;
    int64_t fault_ns;  /* of the rank */
    int64_t alone_ns;  /* by which it came after all others of its host */
    int64_t others_ns; /* by which another one came after it */
    int is_open;       /* some operation follows no tree, has other times, or no other member on the host */
};

/* The latest start of the other ranks of the host in an instance; TIME_UNKNOWN if clocks differ. */
static int64_t latest_beside(const struct lateness *lateness, const struct job_operation *member)
{
    const struct job *job = lateness->job;
    const struct job_instance *instance = &job->instances[member->instance];
    int64_t latest_ns = TIME_UNKNOWN;
    for (int32_t i = 0; i < instance->members; i++) {
        const struct job_operation *other = job_member(job, instance, i);
        if (other->rank == member->rank ||
            lateness->hosts->unit_of[other->rank] != lateness->hosts->unit_of[member->rank])
            continue;
        if (!other->stamped || job->ranks[other->rank].clock != job->ranks[member->rank].clock)
            return TIME_UNKNOWN;
        latest_ns = latest_ns == TIME_UNKNOWN || other->start_ns > latest_ns ? other->start_ns : latest_ns;
    }
    return latest_ns;
}

static void count_lateness(void *context, int32_t operation, int64_t fault_ns)
{
    struct lateness *lateness = context;
    const struct job_operation *at = &lateness->job->operations[operation];
    int64_t interval_ns = lateness->job->ranks[at->rank].dump_interval_ns;
    if (at->rank != lateness->rank || fault_ns <= 0)
        return;
    lateness->fault_ns += fault_ns;
    int may_wait = at->stamped && at->previous >= 0 && lateness->job->operations[at->previous].may_be_tree;
    int64_t beside_ns = may_wait ? latest_beside(lateness, at) : TIME_UNKNOWN;
    if (beside_ns == TIME_UNKNOWN)
        lateness->is_open = 1;
    else if (at->start_ns - beside_ns > interval_ns)
        lateness->alone_ns += at->start_ns - beside_ns;
    else if (beside_ns - at->start_ns > interval_ns)
        lateness->others_ns += beside_ns - at->start_ns;
}

int explanation_find_alone(const struct explanation_search *it, const struct fault *at,
                           struct explanation *explanation)
{
    explanation->rank = explanation_search_slowest(it, explanation);
    struct lateness lateness = {
        .job = it->source.job, .hosts = explanation->partition, .rank = explanation->rank};
    if (fault_each(at, &it->source, count_lateness, &lateness))
        return -1;
    explanation->is_alone = !lateness.is_open && lateness.alone_ns * CLEARLY > lateness.fault_ns &&
                            lateness.alone_ns > lateness.others_ns * CLEARLY;
    return 0;
}

static const struct partition *hosts_of(const struct explanation_search *it)
{
    for (size_t i = 0; i < it->found->partitions.count; i++)
        if (it->found->partitions.items[i].is_host)
            return &it->found->partitions.items[i];
    return NULL;
}

/* Whether a rank beside this one was found to be late in some of the steps. */
static int has_late_beside(const struct explanation_search *it, const struct partition *hosts,
                           const struct explanation *explanation)
{
    for (size_t i = 0; i < it->found->count; i++) {
        const struct explanation *other = &it->found->items[i];
        if (other->rank == explanation->rank ||
            hosts->unit_of[other->rank] != hosts->unit_of[explanation->rank])
            continue;
        for (int32_t step = explanation->steps.first; step <= explanation->steps.last; step++)
            if (step_set_has(&explanation->steps, step) && step_set_has(&other->steps, step))
                return 1;
    }
    return 0;
}

int explanation_waits(const struct explanation_search *it, const struct fault *at,
                      const struct explanation *explanation)
{
    const struct partition *hosts = hosts_of(it);
    if (!hosts || unit_size(explanation->partition, explanation->unit) > 1 ||
        !has_late_beside(it, hosts, explanation))
        return 0;
    struct lateness lateness = {.job = it->source.job, .hosts = hosts, .rank = explanation->rank};
    if (fault_each(at, &it->source, count_lateness, &lateness))
        return -1;
    return !lateness.is_open && lateness.fault_ns > 0 && lateness.alone_ns * CLEARLY <= lateness.fault_ns;
}

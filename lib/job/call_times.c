#include "job/call_times.h"

#include "base/array.h"
#include "base/keyed.h"

#include <stdlib.h>

static int64_t duration_of(const struct job *job, int32_t at)
{
    return job->drafts[at].duration_ns;
}

static int has_times(const struct job *job, int32_t at)
{
    return duration_of(job, at) != TIME_UNKNOWN && job->drafts[at].issued_ns != TIME_UNKNOWN &&
           !job->operations[at].unfinished;
}

/* The latest call of its members, by which instances of a communicator are in order. */
static int64_t called_ns(const struct job *job, const struct job_instance *instance)
{
    int64_t latest = 0;
    for (int32_t i = 0; i < instance->members; i++) {
        int64_t issued_ns = job->drafts[job_member_at(job, instance, i)].issued_ns;
        if (issued_ns != TIME_UNKNOWN && issued_ns > latest)
            latest = issued_ns;
    }
    return latest;
}

/* The least that its end may be; TIME_UNKNOWN where its members do not end at once, or tell nothing. */
static int64_t end_of(const struct job *job, const struct job_instance *instance, int64_t free_ns)
{
    int64_t end_ns = TIME_UNKNOWN;
    if (instance->kind == OPERATION_COLLECTIVE && !function_is_full_exchange(instance->function))
        return TIME_UNKNOWN;
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t at = job_member_at(job, instance, i);
        if (!has_times(job, at))
            continue;
        int64_t begin_ns = job->drafts[at].issued_ns;
        if (instance->kind == OPERATION_COLLECTIVE && free_ns > begin_ns)
            begin_ns = free_ns;
        if (end_ns == TIME_UNKNOWN || begin_ns + duration_of(job, at) > end_ns)
            end_ns = begin_ns + duration_of(job, at);
    }
    return end_ns;
}

static void put_times(struct job *job, const struct job_instance *instance, int64_t end_ns)
{
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t at = job_member_at(job, instance, i);
        struct job_operation *operation = &job->operations[at];
        if (!has_times(job, at) || operation->start_ns != TIME_UNKNOWN)
            continue;
        operation->start_ns = end_ns - duration_of(job, at);
        operation->end_ns = end_ns;
        operation->ends = ENDS_BY_HOST;
        job->timed_operations++;
    }
}

int job_time_calls(struct job *job)
{
    int64_t *free_ns = array_new(job->communicator_count, sizeof *free_ns);
    struct keyed *order = array_new(job->instance_count, sizeof *order);
    struct keyed *scratch = array_new(job->instance_count, sizeof *scratch);
    int failed = !free_ns || !order || !scratch;
    for (size_t i = 0; !failed && i < job->instance_count; i++)
        order[i] = (struct keyed){called_ns(job, &job->instances[i]), (int32_t)i};
    if (!failed)
        keyed_sort(order, scratch, job->instance_count);
    for (size_t i = 0; !failed && i < job->instance_count; i++) {
        const struct job_instance *instance = &job->instances[order[i].index];
        int64_t end_ns = end_of(job, instance, free_ns[instance->communicator]);
        if (end_ns == TIME_UNKNOWN)
            continue;
        put_times(job, instance, end_ns);
        if (instance->kind == OPERATION_COLLECTIVE)
            free_ns[instance->communicator] = end_ns;
    }
    free(free_ns);
    free(order);
    free(scratch);
    return failed ? -1 : 0;
}

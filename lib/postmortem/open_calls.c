#include "postmortem/open_calls.h"

#include "postmortem/recorded.h"

static int64_t count_calls(const struct job *job, int32_t rank, int32_t communicator)
{
    const struct job_rank *of = &job->ranks[rank];
    int64_t count = 0;
    for (size_t i = of->first; i < of->first + of->count; i++)
        count += job->operations[i].communicator == communicator;
    return count;
}

/* Whether all who made the call went on to the same place of their communicator. */
static int stand_together(const struct job *job, const struct job_instance *instance)
{
    int64_t first = 0;
    for (int32_t i = 0; i < instance->members; i++) {
        int64_t calls = count_calls(job, job_member(job, instance, i)->rank, instance->communicator);
        if (i > 0 && calls != first)
            return 0;
        first = calls;
    }
    return 1;
}

/* In its last call: a host that waits has called nothing since. */
static int may_wait_for_unrecorded(const struct job *job, int32_t rank)
{
    const struct job_rank *of = &job->ranks[rank];
    if (!of->count)
        return 1;
    const struct job_operation *last = &job->operations[of->first + of->count - 1];
    const struct job_instance *instance = &job->instances[last->instance];
    if (instance->function == FUNCTION_SEND)
        return instance->members < instance->expected;
    const struct job_communicator *communicator = &job->communicators[instance->communicator];
    return count_recorded(job, communicator) < communicator->size;
}

enum confidence open_calls_confidence(const struct absence *absence, int32_t rank)
{
    const struct job *job = absence->job;
    const struct job_instance *instance = &job->instances[absence->ranks[rank].missing_from];
    return !stand_together(job, instance) || may_wait_for_unrecorded(job, rank) ? CONFIDENCE_LOW
                                                                                : CONFIDENCE_MEDIUM;
}

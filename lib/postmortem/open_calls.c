#include "postmortem/open_calls.h"

#include "postmortem/recorded.h"
#include "postmortem/reported_errors.h"

static int64_t count_calls(const struct job *job, int32_t rank, int32_t communicator)
{
    const struct job_rank *of = &job->ranks[rank];
    int64_t count = 0;
    for (size_t i = of->first; i < of->first + of->count; i++)
        count += job->operations[i].communicator == communicator;
    return count;
}

/* The same of one function. */
static int64_t count_of(const struct job *job, int32_t rank, int32_t communicator, enum function function)
{
    const struct job_rank *of = &job->ranks[rank];
    int64_t count = 0;
    for (size_t i = of->first; i < of->first + of->count; i++)
        count += job->operations[i].communicator == communicator && job->operations[i].function == function;
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

/*
 * RAS looks at hosts that may run, each at a moment of its own. One step of a healthy job takes less than
 * this: where nothing is launched for so long, the job stands.
 */
#define STANDS_NS INT64_C(60000000000)

/* Hosts that run are often one call of each function apart, and a pair of them nearly always. */
enum { APART_WHILE_RUNNING = 1, TOGETHER_BY_CHANCE = 2 };

static int is_one_moment(const struct job *job)
{
    return job->watch.is_watched && job->watch.stood_for_ns < STANDS_NS;
}

/* By how many calls of one function those who made a call are ahead of a rank, at the most. */
static int64_t calls_ahead(const struct job *job, const struct job_instance *instance, int32_t rank)
{
    int64_t most = 0;
    for (int32_t function = 0; instance->members > 0 && function < FUNCTION_COUNT; function++) {
        int32_t other = job_member(job, instance, 0)->rank;
        int64_t ahead = count_of(job, other, instance->communicator, (enum function)function) -
                        count_of(job, rank, instance->communicator, (enum function)function);
        most = ahead > most ? ahead : most;
    }
    return most;
}

/* Whether what RAS saw may be a job that runs: from one look that others stand together, and further on than
 * hosts that run are apart, is as good as it gets. */
static int may_run(const struct job *job, const struct job_instance *instance, int32_t rank)
{
    return is_one_moment(job) && (calls_ahead(job, instance, rank) <= APART_WHILE_RUNNING ||
                                  instance->members <= TOGETHER_BY_CHANCE);
}

int open_calls_are_ahead(const struct job *job, const struct job_instance *instance)
{
    return is_one_moment(job) && instance->expected > 2 * TOGETHER_BY_CHANCE &&
           2 * instance->members <= instance->expected;
}

/* Where NCCL reports an error of another rank, RAS cannot tell who is behind as it waits for that one. */
static int may_wait_for_failed(const struct job *job, int32_t rank)
{
    for (size_t i = 0; job->watch.is_watched && i < job->warning_count; i++)
        if (job->warnings[i].rank != rank && reported_is_own(job->warnings[i].kind))
            return 1;
    return 0;
}

enum confidence open_calls_confidence(const struct absence *absence, int32_t rank)
{
    const struct job *job = absence->job;
    const struct job_instance *instance = &job->instances[absence->ranks[rank].missing_from];
    int is_unsure = !stand_together(job, instance) || may_wait_for_unrecorded(job, rank) ||
                    may_wait_for_failed(job, rank) || may_run(job, instance, rank);
    return is_unsure ? CONFIDENCE_LOW : CONFIDENCE_MEDIUM;
}

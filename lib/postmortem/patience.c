#include "postmortem/patience.h"

#include "postmortem/progress.h"

static int64_t longest_operation(const struct job *job, const struct job_rank *rank)
{
    int64_t longest_ns = 0;
    for (size_t i = rank->first; i < rank->first + rank->count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (operation->start_ns == TIME_UNKNOWN || operation->end_ns == TIME_UNKNOWN || operation->unfinished)
            continue;
        int64_t took_ns = operation->end_ns - operation->start_ns;
        longest_ns = took_ns > longest_ns ? took_ns : longest_ns;
    }
    return longest_ns;
}

/* From the first start in a step to the first in the next. */
static int64_t longest_step(const struct job *job, const struct job_rank *rank)
{
    int64_t longest_ns = 0;
    const struct job_operation *first = NULL;
    for (size_t i = rank->first; i < rank->first + rank->count; i++) {
        const struct job_operation *here = &job->operations[i];
        if (here->step <= 0 || here->start_ns == TIME_UNKNOWN || (first && here->step <= first->step))
            continue;
        if (first && here->step == first->step + 1 && here->start_ns - first->start_ns > longest_ns)
            longest_ns = here->start_ns - first->start_ns;
        first = here;
    }
    return longest_ns;
}

static int64_t longest_ever(const struct job *job, const struct job_rank *rank)
{
    int64_t operation_ns = longest_operation(job, rank), step_ns = longest_step(job, rank);
    return operation_ns > step_ns ? operation_ns : step_ns;
}

int64_t record_end(const struct job *job, const struct job_rank *rank)
{
    int64_t end_ns = rank->seen_until_ns;
    for (size_t i = rank->first; i < rank->first + rank->count; i++) {
        int64_t enqueued_ns = job->operations[i].enqueued_ns;
        if (enqueued_ns == TIME_UNKNOWN)
            continue;
        enqueued_ns += job_delay(job, &job->operations[i]);
        end_ns = enqueued_ns > end_ns ? enqueued_ns : end_ns;
    }
    return end_ns;
}

/* So long an operation was pending at least, of a rank that is told of late (job_rank). */
static const int64_t TOLD_AFTER_NS = 1000000000;

/* How long it has waited when the record of its rank ends. */
static int64_t waited_ns(const struct job *job, const struct job_operation *operation, int64_t end_ns)
{
    int64_t waited_ns = end_ns - (operation->start_ns + job_delay(job, operation));
    return job->ranks[operation->rank].told_late && waited_ns < TOLD_AFTER_NS ? TOLD_AFTER_NS : waited_ns;
}

int somebody_waits_longer_than_ever(const struct passing *passing)
{
    const struct job *job = passing->job;
    for (size_t i = 0; i < job->rank_count; i++) {
        const struct job_rank *rank = &job->ranks[i];
        int64_t longest_ns = longest_ever(job, rank), end_ns = record_end(job, rank);
        for (size_t at = rank->first; longest_ns && at < rank->first + rank->count; at++)
            if (passing_waits(passing, (int32_t)at) &&
                waited_ns(job, &job->operations[at], end_ns) > longest_ns)
                return 1;
    }
    return 0;
}

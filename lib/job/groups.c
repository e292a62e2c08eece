#include "job/groups.h"

int32_t job_last_of_group(const struct job *job, int32_t member)
{
    int32_t group = job->operations[member].group, last = member;
    for (size_t i = (size_t)group; i < job->operation_count && job->operations[i].group == group; i++)
        if (job->drafts.free_ns[i] > job->drafts.free_ns[last])
            last = (int32_t)i;
    return last;
}

int job_same_group(const struct job *job, size_t before, size_t after)
{
    const struct job_operation *first = &job->operations[before], *then = &job->operations[after];
    int64_t first_ns = job->drafts.issued_ns[before], then_ns = job->drafts.issued_ns[after];
    return first->rank == then->rank && function_is_point_to_point(first->function) &&
           function_is_point_to_point(then->function) && first_ns != TIME_UNKNOWN &&
           (first_ns == then_ns || (then_ns != TIME_UNKNOWN && then_ns < first->enqueued_ns));
}

int job_is_grouped(const struct job *job, int32_t operation)
{
    int32_t group = job->operations[operation].group;
    return group != operation ||
           ((size_t)operation + 1 < job->operation_count && job->operations[operation + 1].group == group);
}

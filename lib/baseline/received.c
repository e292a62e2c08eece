#include "baseline/received.h"

/* The group that the operation before is of: the first, and before which operation it ends. */
static struct job_range group_before(const struct job *job, const struct job_operation *operation)
{
    struct job_range range = {0};
    if (operation->previous < 0)
        return range;
    range.first = range.end = (size_t)job->operations[operation->previous].group;
    while (range.end < job->operation_count && job->operations[range.end].group == (int32_t)range.first)
        range.end++;
    return range;
}

int64_t received_bytes(const struct job *job, const struct job_operation *operation)
{
    struct job_range range = group_before(job, operation);
    int64_t bytes = 0;
    for (size_t i = range.first; i < range.end; i++) {
        const struct job_operation *member = &job->operations[i];
        if (member->bytes < 0 || member->bytes > INT64_MAX - bytes)
            return TIME_UNKNOWN;
        bytes += member->function == FUNCTION_SEND ? 0 : member->bytes;
    }
    return range.first < range.end ? bytes : TIME_UNKNOWN;
}

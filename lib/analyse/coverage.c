#include "analyse/job.h"

#include "base/map.h"

/*
 * Gaps: operations that are absent between others of their sequence on the same rank. Sequence numbers count
 * per communicator and function, so that a gap is a record that was lost.
 */

int job_count_gaps(struct job *job, struct error *error)
{
    struct map least, greatest;
    map_init(&least);
    map_init(&greatest);
    int failed = 0;
    int64_t seen = 0, span = 0;
    for (size_t i = 0; !failed && i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        int64_t sequence = job_sequence(job, operation);
        if (sequence < 0 || function_is_point_to_point(operation->function) ||
            !job->communicators[operation->communicator].hashed)
            continue;
        struct map_key key = {
            {(uint64_t)operation->rank, (uint64_t)operation->communicator, operation->function}};
        int64_t *low = map_put(&least, key, sequence, NULL);
        int64_t *high = map_put(&greatest, key, sequence - 1, NULL);
        if (!low || !high) {
            failed = error_no_memory(error);
            break;
        }
        /* The span grows by as much as this one lies outside of what was seen. */
        if (sequence > *high) {
            span += sequence - *high;
            *high = sequence;
        }
        if (sequence < *low) {
            span += *low - sequence;
            *low = sequence;
        }
        seen++;
    }
    map_release(&least);
    map_release(&greatest);
    job->missing_sequence = span > seen ? span - seen : 0;
    return failed;
}

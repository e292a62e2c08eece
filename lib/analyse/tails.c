#include "analyse/tails.h"

#include "analyse/extents.h"

/* Whether an operation is the last that is recorded of its rank's, and others got past more. */
static int is_last_recorded(const struct extents *extents, const struct job *job,
                            const struct job_operation *operation)
{
    const int64_t *last =
        extents_last(extents, operation->rank, operation->communicator, operation->function);
    return last && *last == job_sequence(job, operation) &&
           extents_lack(extents, operation->rank, operation->communicator, operation->function);
}

int job_find_tails(struct job *job)
{
    for (size_t i = 0; i < job->rank_count; i++)
        job->ranks[i].tail_step = INT32_MAX;
    if (job->finished_only)
        return 0;
    struct extents extents;
    int failed = extents_init(&extents, job);
    for (size_t i = 0; !failed && i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        int32_t *tail_step = &job->ranks[operation->rank].tail_step;
        if (operation->step >= 0 && operation->step < *tail_step &&
            is_last_recorded(&extents, job, operation))
            *tail_step = operation->step;
    }
    extents_release(&extents);
    return failed;
}

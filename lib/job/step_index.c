#include "job/step_index.h"

#include "base/array.h"

/* What belongs to some training steps, for who looks at few steps of a long run, many times. */

/* Of tables of ranks by steps: cells for each operation, and however few those are. */
enum { CELLS_AN_OPERATION = 64, CELLS_ALWAYS = 1 << 24 };

int job_steps_are_doubtful(const struct job *job, int64_t operations)
{
    uint64_t cells = (uint64_t)job->rank_count * (uint64_t)(job->step_count < 0 ? -1 : job->step_count);
    return cells > CELLS_ALWAYS + CELLS_AN_OPERATION * (uint64_t)operations;
}

void job_doubt_steps(struct job *job)
{
    /* Who chose excerpts did not doubt them. */
    if (job->excerpt_count || !job_steps_are_doubtful(job, (int64_t)job->operation_count))
        return;
    job->step_count = job->first_step = 0;
    for (size_t i = 0; i < job->operation_count; i++)
        job->operations[i].step = -1;
    for (size_t i = 0; i < job->instance_count; i++)
        job->instances[i].step = -1;
}

static int has_step(const struct job *job, int32_t step)
{
    return step >= 0 && step < job->step_count;
}

static int index_operations(struct job *job)
{
    size_t steps = (size_t)job->step_count;
    job->operations_of_step = array_new(job->rank_count * steps, sizeof *job->operations_of_step);
    for (size_t i = 0; job->operations_of_step && i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (!has_step(job, operation->step))
            continue;
        struct job_span *span =
            &job->operations_of_step[(size_t)operation->rank * steps + (size_t)operation->step];
        if (!span->end)
            span->first = (int32_t)i;
        span->end = (int32_t)i + 1;
    }
    return job->operations_of_step ? 0 : -1;
}

/* Counting, then dealing out. */
static int index_instances(struct job *job)
{
    size_t steps = (size_t)job->step_count;
    job->step_end = array_new(steps + 1, sizeof *job->step_end);
    job->by_step = array_new(job->instance_count, sizeof *job->by_step);
    if (!job->step_end || !job->by_step)
        return -1;
    for (size_t i = 0; i < job->instance_count; i++)
        if (has_step(job, job->instances[i].step))
            job->step_end[job->instances[i].step + 1]++;
    for (size_t step = 0; step < steps; step++)
        job->step_end[step + 1] += job->step_end[step];
    /* Each step's entry counts up from its begin to its end. */
    for (size_t i = 0; i < job->instance_count; i++)
        if (has_step(job, job->instances[i].step))
            job->by_step[job->step_end[job->instances[i].step]++] = (int32_t)i;
    return 0;
}

int job_index_steps(struct job *job, struct error *error)
{
    return index_operations(job) || index_instances(job) ? error_no_memory(error) : 0;
}

struct job_range job_operations_in(const struct job *job, int32_t rank, int32_t first_step, int32_t last_step)
{
    struct job_range all = {0, 0};
    for (int32_t step = first_step; step <= last_step; step++) {
        const struct job_span *here =
            &job->operations_of_step[(size_t)rank * (size_t)job->step_count + (size_t)step];
        if (!here->end)
            continue;
        if (!all.end || (size_t)here->first < all.first)
            all.first = (size_t)here->first;
        if ((size_t)here->end > all.end)
            all.end = (size_t)here->end;
    }
    return all;
}

struct job_range job_instances_in(const struct job *job, int32_t first_step, int32_t last_step)
{
    return (struct job_range){first_step > 0 ? job->step_end[first_step - 1] : 0, job->step_end[last_step]};
}

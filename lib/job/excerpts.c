#include "job/excerpts.h"

#include "base/array.h"
#include "base/lower_bound.h"

static int32_t length_of(const struct job_excerpt *excerpt)
{
    return excerpt->end - excerpt->first;
}

int job_take_excerpts(struct job *job, struct job_excerpt *excerpts, size_t count)
{
    int32_t at = 0;
    size_t steps = count ? count - 1 : 0;
    for (size_t i = 0; i < count; i++)
        steps += (size_t)length_of(&excerpts[i]);
    job->excerpts = excerpts;
    job->step_numbers = array_new(steps, sizeof *job->step_numbers);
    if (!job->step_numbers)
        return -1;
    for (size_t i = 0; i < count; i++) {
        excerpts[i].at = at;
        for (int32_t step = excerpts[i].first; step < excerpts[i].end; step++)
            job->step_numbers[at++] = step;
        if (i + 1 < count)
            job->step_numbers[at++] = -1;
    }
    job->excerpt_count = count;
    job->run_step_count = job->step_count;
    job->step_count = at;
    return 0;
}

static int begins_up_to(const void *excerpt, const void *step)
{
    return ((const struct job_excerpt *)excerpt)->first <= *(const int32_t *)step;
}

static int stands_up_to(const void *excerpt, const void *step)
{
    return ((const struct job_excerpt *)excerpt)->at <= *(const int32_t *)step;
}

int32_t job_loaded_step(const struct job *job, int64_t run_step)
{
    if (run_step < 0 || run_step >= job_run_steps(job))
        return -1;
    int32_t step = (int32_t)run_step;
    if (!job->excerpt_count)
        return step;
    size_t after = lower_bound(job->excerpts, job->excerpt_count, sizeof *job->excerpts, begins_up_to, &step);
    const struct job_excerpt *excerpt = after ? &job->excerpts[after - 1] : NULL;
    return excerpt && step < excerpt->end ? excerpt->at + (step - excerpt->first) : -1;
}

size_t job_excerpt_of(const struct job *job, int32_t step)
{
    size_t after = lower_bound(job->excerpts, job->excerpt_count, sizeof *job->excerpts, stands_up_to, &step);
    return after ? after - 1 : 0;
}

int32_t job_run_step(const struct job *job, int32_t step)
{
    if (step < 0 || !job->excerpt_count)
        return step;
    const struct job_excerpt *excerpt = &job->excerpts[job_excerpt_of(job, step)];
    return excerpt->first + (step - excerpt->at);
}

int job_is_break(const struct job *job, int32_t step)
{
    if (step < 0 || !job->excerpt_count)
        return 0;
    const struct job_excerpt *excerpt = &job->excerpts[job_excerpt_of(job, step)];
    return step - excerpt->at >= length_of(excerpt);
}

int32_t job_breaks_in(const struct job *job, int32_t first, int32_t last)
{
    if (first < 0 || last < first || !job->excerpt_count)
        return 0;
    return (int32_t)(job_excerpt_of(job, last) - job_excerpt_of(job, first)) + job_is_break(job, last);
}

int32_t job_loaded_steps(const struct job *job)
{
    return job->step_count - (job->excerpt_count ? (int32_t)job->excerpt_count - 1 : 0);
}

int32_t job_run_steps(const struct job *job)
{
    return job->excerpt_count ? job->run_step_count : job->step_count;
}

double job_sought_among(const struct job *job)
{
    int32_t loaded = job_loaded_steps(job);
    return job->is_later_round && loaded > 0 ? (double)job_run_steps(job) / loaded : 1;
}

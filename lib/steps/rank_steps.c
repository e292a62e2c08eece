#include "steps/rank_steps.h"

#include "base/array.h"
#include "baseline/step_durations.h"
#include "job/arrival.h"
#include "job/step_index.h"

static struct rank_step *at(const struct job *job, struct rank_step *steps, int32_t rank, int32_t step)
{
    return &steps[(size_t)rank * (size_t)job->step_count + (size_t)step];
}

static void add(int64_t *sum_ns, int64_t ns)
{
    *sum_ns = *sum_ns == TIME_UNKNOWN ? ns : *sum_ns + ns;
}

/* What is its own, of steps in which it did something. The first is warm-up, of which nothing is usual. */
static void measure_own(const struct job *job, const struct baseline *baseline, int32_t rank, int32_t step,
                        struct rank_step *of)
{
    struct job_range range = job_operations_in(job, rank, step, step);
    for (size_t i = range.first; i < range.end; i++)
        if (job->operations[i].step == step && step >= baseline->first_step)
            add(&of->own_ns, excess_ns_at(&baseline->excess, i));
}

/* What each member of an instance waited for the last of them. */
static void measure_waiting(const struct job *job, const struct job_instance *instance,
                            struct rank_step *steps)
{
    int32_t last = instance->members == instance->expected ? arrival_last(job, instance) : -1;
    for (int32_t i = 0; last >= 0 && i < instance->members; i++) {
        int32_t member = job_member_at(job, instance, i);
        add(&at(job, steps, job->operations[member].rank, instance->step)->waiting_ns,
            arrival_stay_ns(job, member) - arrival_stay_ns(job, last));
    }
}

struct rank_step *rank_steps_new(const struct job *job, const struct baseline *baseline)
{
    struct rank_step *steps = array_new(job->rank_count + 1, ((size_t)job->step_count + 1) * sizeof *steps);
    if (!steps)
        return NULL;
    for (int32_t rank = 0; rank < (int32_t)job->rank_count; rank++)
        for (int32_t step = 0; step < job->step_count; step++) {
            struct rank_step *of = at(job, steps, rank, step);
            *of = (struct rank_step){baseline_rank_lasted_ns(baseline, job, rank, step), TIME_UNKNOWN,
                                     TIME_UNKNOWN};
            measure_own(job, baseline, rank, step, of);
        }
    for (size_t i = 0; i < job->instance_count; i++)
        if (job->instances[i].step >= 0 && job->instances[i].step < job->step_count)
            measure_waiting(job, &job->instances[i], steps);
    return steps;
}

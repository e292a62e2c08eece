#include "steps/rank_steps.h"

#include "base/array.h"
#include "baseline/step_durations.h"
#include "job/arrival.h"
#include "job/step_index.h"
#include "steps/rank_times.h"

#include <stdlib.h>

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

/* What it waited, of steps in which it waited at all. */
static int measure_waiting(const struct job *job, const struct baseline *baseline, struct rank_step *steps)
{
    struct rank_times times;
    struct rank_times_bench bench = {.ran = NULL};
    struct rank_time *of_rank = array_new((size_t)job->step_count + 1, sizeof *of_rank);
    int failed = rank_times_init(&times, job, baseline) || rank_times_bench_init(&bench, &times) || !of_rank;
    for (int32_t rank = 0; !failed && rank < (int32_t)job->rank_count; rank++) {
        rank_times_measure(&times, &bench, rank, of_rank);
        for (int32_t step = 0; step < job->step_count; step++)
            if (at(job, steps, rank, step)->waiting_ns != TIME_UNKNOWN)
                at(job, steps, rank, step)->waiting_ns = of_rank[step].waiting_ns;
    }
    rank_times_bench_release(&bench);
    rank_times_release(&times);
    free(of_rank);
    return failed;
}

/* Marks the steps of ranks that have an operation of which it can be told how long it waited. */
static void mark_told(const struct job *job, const struct job_instance *instance, struct rank_step *steps)
{
    int32_t last = instance->members == instance->expected ? arrival_last(job, instance) : -1;
    for (int32_t i = 0; last >= 0 && i < instance->members; i++)
        at(job, steps, job->operations[job_member_at(job, instance, i)].rank, instance->step)->waiting_ns = 0;
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
            mark_told(job, &job->instances[i], steps);
    if (measure_waiting(job, baseline, steps)) {
        free(steps);
        return NULL;
    }
    return steps;
}

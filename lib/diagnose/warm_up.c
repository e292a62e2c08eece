/*
 * Finds the steps after the first that are still warm-up, and the steps at which the load of the job changes.
 * baseline_init uses both to keep one-time costs and changes of the work out of the baseline.
 */
#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>

/* A value more than this many times the median over steps needs a reason other than noise. */
enum { LONGER_TIMES = 2 };

/*
 * A job begins with at most this many long steps. Later, caches, clocks, compilers and profilers are ready.
 */
enum { STEPS_TO_START = 4 };

static int is_longer(int64_t value, int64_t middle)
{
    return value != TIME_UNKNOWN && middle != TIME_UNKNOWN && value / LONGER_TIMES > middle;
}

int warm_up_add(struct baseline *baseline, int32_t step)
{
    for (size_t i = 0; i < baseline->warm_up_count; i++)
        if (baseline->warm_up[i] == step)
            return 0;
    if (array_reserve((void **)&baseline->warm_up, &baseline->warm_up_capacity, baseline->warm_up_count + 1,
                      sizeof *baseline->warm_up))
        return -1;
    baseline->warm_up[baseline->warm_up_count++] = step;
    return 0;
}

int warm_up_find(struct baseline *baseline, const struct job *job)
{
    int32_t *first = array_new(job->communicator_count, sizeof *first);
    int failed = !first;
    for (size_t i = 0; !failed && i < job->communicator_count; i++)
        first[i] = INT32_MAX;
    for (size_t i = 0; !failed && i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (operation->step >= 0 && operation->step < first[operation->communicator])
            first[operation->communicator] = operation->step;
    }
    for (size_t i = 0; !failed && i < job->communicator_count; i++)
        if (job->communicators[i].succeeds && first[i] != INT32_MAX && first[i] >= baseline->first_step)
            failed = warm_up_add(baseline, first[i]);
    free(first);
    return failed ? -1 : 0;
}

int warm_up_find_first(struct baseline *baseline)
{
    int32_t step = baseline->first_step, end = step + STEPS_TO_START + 1;
    while (step < end && step < baseline->step_count &&
           is_longer(baseline->step_ns[step], baseline->median_step_ns))
        step++;
    baseline->started_step = step < end ? step : baseline->first_step;
    for (int32_t i = baseline->first_step; i < baseline->started_step; i++)
        if (warm_up_add(baseline, i))
            return -1;
    return 0;
}

/* The median of a row; TIME_UNKNOWN where it is empty. */
static int64_t middle_of(const int64_t *row, int32_t first_step, int32_t steps, int64_t *list)
{
    size_t count = 0;
    for (int32_t step = first_step; step < steps; step++)
        if (row[step] != TIME_UNKNOWN)
            list[count++] = row[step];
    return median_of(list, count);
}

/* Whether a row is as long in the next step. */
static int goes_on(const int64_t *row, int32_t step, int32_t steps, int64_t middle)
{
    return step + 1 < steps && is_longer(row[step + 1], middle) && row[step + 1] >= row[step] / LONGER_TIMES;
}

/*
 * Whether the value of a step is longer. The median is compared without being found: it is less than a value
 * if more than half of the row is.
 */
static int is_longer_in(const int64_t *row, int32_t step, int32_t first_step, int32_t steps)
{
    int64_t limit = row[step] / LONGER_TIMES;
    size_t known = 0, less = 0;
    if (row[step] == TIME_UNKNOWN)
        return 0;
    for (int32_t i = first_step; i < steps; i++) {
        known += row[i] != TIME_UNKNOWN;
        less += row[i] != TIME_UNKNOWN && row[i] < limit;
    }
    return known && less > (known - 1) / 2;
}

static void drop_step(const struct baseline *baseline, int64_t *values, size_t rows, int32_t step,
                      int64_t *list)
{
    int32_t steps = baseline->step_count, first_step = baseline->first_step;
    size_t longer = 0;
    for (size_t row = 0; row < rows && longer < 2; row++)
        longer += (size_t)is_longer_in(values + row * (size_t)steps, step, first_step, steps);
    for (size_t row = 0; longer && row < rows; row++) {
        int64_t *here = values + row * (size_t)steps;
        if (is_longer_in(here, step, first_step, steps) &&
            (longer > 1 || !goes_on(here, step, steps, middle_of(here, first_step, steps, list))))
            here[step] = TIME_UNKNOWN;
    }
}

void warm_up_drop(const struct baseline *baseline, int64_t *values, size_t rows, int64_t *list)
{
    for (size_t i = 0; i < baseline->warm_up_count; i++)
        drop_step(baseline, values, rows, baseline->warm_up[i], list);
}

/* Steps on each side of a change of load: the minimum length of a regular stretch. */
enum { WINDOW = 6 };

/* Medians of healthy windows of this length differ by less than this factor. */
static const double CHANGED = 1.2;

/* The growth of ranks with the same work differs by less than this factor. */
static const double ALIKE = 1.15;

/* Three of four ranks must change alike. */
enum { OF_RANKS = 4, RANKS_ALIKE = 3 };

struct loads {
    const struct job *job;
    int64_t *own;    /* owned, as are those below: [rank * steps + step], own time; TIME_UNKNOWN */
    int64_t *common; /* by step, median over ranks */
    int64_t *list;
    double *ratios; /* by rank */
    int32_t *of_step;
};

static int64_t time_of(const struct job *job, const struct job_operation *operation)
{
    return job->ranks[operation->rank].has_streams ? job_idle_time(job, operation) : operation->own_ns;
}

static void sum_steps(struct loads *loads)
{
    const struct job *job = loads->job;
    size_t steps = (size_t)job->step_count;
    for (size_t i = 0; i < job->rank_count * steps; i++)
        loads->own[i] = TIME_UNKNOWN;
    for (size_t i = 0; i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        int64_t time_ns = operation->step < 0 ? TIME_UNKNOWN : time_of(job, operation);
        if (time_ns == TIME_UNKNOWN || time_ns < 0)
            continue;
        int64_t *sum = &loads->own[(size_t)operation->rank * steps + (size_t)operation->step];
        *sum = *sum == TIME_UNKNOWN ? time_ns : *sum + time_ns;
    }
}

static void find_common(struct loads *loads)
{
    size_t steps = (size_t)loads->job->step_count;
    for (size_t step = 0; step < steps; step++) {
        size_t count = 0;
        for (size_t rank = 0; rank < loads->job->rank_count; rank++)
            if (loads->own[rank * steps + step] != TIME_UNKNOWN)
                loads->list[count++] = loads->own[rank * steps + step];
        loads->common[step] = median_of(loads->list, count);
    }
}

/* The median of a window of a row; TIME_UNKNOWN where at least half of the window is unknown. */
static int64_t loads_middle_of(const int64_t *row, int32_t first)
{
    int64_t list[WINDOW];
    size_t count = 0;
    for (int32_t step = first; step < first + WINDOW; step++)
        if (row[step] != TIME_UNKNOWN)
            list[count++] = row[step];
    return count * 2 > WINDOW ? median_of(list, count) : TIME_UNKNOWN;
}

/* Factor by which a row is greater in the window from `step` than in the window from `before`; 0: unknown. */
static double growth_at(const int64_t *row, int32_t before, int32_t step)
{
    int64_t first = loads_middle_of(row, before), then = loads_middle_of(row, step);
    return first == TIME_UNKNOWN || then == TIME_UNKNOWN || first <= 0 || then <= 0
               ? 0
               : (double)then / (double)first;
}

static int is_changed(double growth)
{
    return growth > CHANGED || (growth > 0 && growth < 1 / CHANGED);
}

/* Whether the ranks share the change. */
static int is_common(struct loads *loads, int32_t before, int32_t step)
{
    size_t steps = (size_t)loads->job->step_count, count = 0, alike = 0;
    for (size_t rank = 0; rank < loads->job->rank_count; rank++) {
        double growth = growth_at(loads->own + rank * steps, before, step);
        if (growth > 0)
            loads->ratios[count++] = growth;
    }
    if (count < 2)
        return 0;
    sort_reals(loads->ratios, count);
    double middle = loads->ratios[(count - 1) / 2];
    for (size_t i = 0; i < count; i++)
        alike += loads->ratios[i] < middle * ALIKE && loads->ratios[i] > middle / ALIKE;
    return is_changed(middle) && alike * OF_RANKS >= count * RANKS_ALIKE;
}

/* Whether a value is closer, by ratio, to the load after the change than to that before. */
static int is_of_next(int64_t value, int64_t before, int64_t after)
{
    double ratio = (double)value / (double)before;
    return value != TIME_UNKNOWN && (after > before ? ratio * ratio > (double)after / (double)before
                                                    : ratio * ratio < (double)after / (double)before);
}

/* The first step of the new load within the window from `step`. */
static int32_t boundary_at(const struct loads *loads, int32_t before, int32_t step)
{
    int64_t first = loads_middle_of(loads->common, before), then = loads_middle_of(loads->common, step);
    int32_t at = step;
    while (at < step + WINDOW / 2 && !is_of_next(loads->common[at], first, then))
        at++;
    return at;
}

static void assign_steps(struct loads *loads, int32_t first_step)
{
    int32_t steps = loads->job->step_count, begin = first_step, load = 0;
    for (int32_t step = first_step; step < steps; step++) {
        int32_t before = step - WINDOW;
        if (before >= begin && step + WINDOW <= steps && is_changed(growth_at(loads->common, before, step))) {
            int32_t boundary = boundary_at(loads, before, step);
            if (boundary + WINDOW <= steps && is_common(loads, before, boundary)) {
                for (; step < boundary; step++)
                    loads->of_step[step] = load;
                begin = boundary;
                load++;
            }
        }
        loads->of_step[step] = load;
    }
}

int32_t *loads_find(const struct job *job, int32_t first_step)
{
    size_t steps = (size_t)job->step_count, ranks = job->rank_count;
    struct loads loads = {.job = job,
                          .own = array_new(ranks * steps, sizeof *loads.own),
                          .common = array_new(steps, sizeof *loads.common),
                          .list = array_new(ranks, sizeof *loads.list),
                          .ratios = array_new(ranks, sizeof *loads.ratios),
                          .of_step = array_new(steps, sizeof *loads.of_step)};
    if (loads.own && loads.common && loads.list && loads.ratios && loads.of_step) {
        sum_steps(&loads);
        find_common(&loads);
        assign_steps(&loads, first_step);
    } else {
        free(loads.of_step);
        loads.of_step = NULL;
    }
    free(loads.own);
    free(loads.common);
    free(loads.list);
    free(loads.ratios);
    return loads.of_step;
}

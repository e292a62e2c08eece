#include "baseline/warm_up.h"

#include "base/array.h"
#include "base/statistics.h"

#include <stdlib.h>

/* What takes so many times as long as in the middle one of all steps is longer for a reason. */
enum { LONGER_TIMES = 2 };

/* So many long steps a job begins with at most: caches, clocks, compilers and profilers are there after. */
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

/* The middle one of a row; TIME_UNKNOWN where it has none. */
static int64_t middle_of(const int64_t *row, int32_t first_step, int32_t steps, int64_t *list)
{
    size_t count = 0;
    for (int32_t step = first_step; step < steps; step++)
        if (row[step] != TIME_UNKNOWN)
            list[count++] = row[step];
    return median_of(list, count);
}

/* Whether a row goes on as long in the step after. */
static int goes_on(const int64_t *row, int32_t step, int32_t steps, int64_t middle)
{
    return step + 1 < steps && is_longer(row[step + 1], middle) && row[step + 1] >= row[step] / LONGER_TIMES;
}

static void leave_out_step(const struct baseline *baseline, int64_t *values, size_t rows, int32_t step,
                           int64_t *list)
{
    int32_t steps = baseline->step_count;
    size_t longer = 0;
    for (size_t row = 0; row < rows && longer < 2; row++) {
        const int64_t *here = values + row * (size_t)steps;
        longer += (size_t)is_longer(here[step], middle_of(here, baseline->first_step, steps, list));
    }
    for (size_t row = 0; longer && row < rows; row++) {
        int64_t *here = values + row * (size_t)steps;
        int64_t middle = middle_of(here, baseline->first_step, steps, list);
        if (is_longer(here[step], middle) && (longer > 1 || !goes_on(here, step, steps, middle)))
            here[step] = TIME_UNKNOWN;
    }
}

void warm_up_leave_out(const struct baseline *baseline, int64_t *values, size_t rows, int64_t *list)
{
    for (size_t i = 0; i < baseline->warm_up_count; i++)
        leave_out_step(baseline, values, rows, baseline->warm_up[i], list);
}

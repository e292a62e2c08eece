#include "baseline/baseline.h"

#include "base/array.h"
#include "baseline/cells.h"
#include "baseline/excess.h"
#include "baseline/roles.h"
#include "baseline/step_durations.h"
#include "baseline/warm_up.h"

#include <stdlib.h>

/* Step 0 is warm-up, of the program that is: of a recorder that was on later none is. */
static int32_t after_warm_up(const struct job *job)
{
    return job->first_step + job->step_base > 0 ? job->first_step : job->step_count > 1;
}

int baseline_init(struct baseline *baseline, const struct job *job, const struct baseline_options *options,
                  struct error *error)
{
    *baseline = (struct baseline){.step_count = job->step_count, .first_step = after_warm_up(job)};
    baseline->role_of_rank = array_new(job->rank_count, sizeof *baseline->role_of_rank);
    baseline->rank_in_role = array_new(job->rank_count, sizeof *baseline->rank_in_role);
    baseline->predecessors = array_new(job->rank_count, sizeof *baseline->predecessors);
    baseline->late_ns =
        array_new(job->rank_count * (size_t)(baseline->step_count + 1), sizeof *baseline->late_ns);
    baseline->positions = array_new(job->operation_count, sizeof *baseline->positions);
    baseline->hidden = array_new(job->operation_count, sizeof *baseline->hidden);
    baseline->stretch_of_step =
        array_new((size_t)baseline->step_count + 1, sizeof *baseline->stretch_of_step);
    baseline->rank_count = job->rank_count;
    if (excess_list_init(&baseline->excess, job->operation_count) || !baseline->positions ||
        !baseline->hidden || !baseline->late_ns || !baseline->role_of_rank || !baseline->stretch_of_step ||
        !baseline->rank_in_role || !baseline->predecessors || warm_up_find(baseline, job) ||
        baseline_find_roles(baseline, job) || baseline_fill_cells(baseline, job) ||
        baseline_measure_steps(baseline, job) || warm_up_find_first(baseline) ||
        baseline_measure_places(baseline, job, options->sigmas)) {
        baseline_release(baseline);
        return error_no_memory(error);
    }
    return 0;
}

int baseline_is_regular(const struct baseline *baseline)
{
    return baseline->regular >= 0.5;
}

struct programme_span role_programme(const struct role *role, int32_t position)
{
    struct programme_span span = {0, role->length};
    for (int32_t i = 0; role->begins && i < role->programmes; i++)
        if (role->begins[i] <= position)
            span.begin = role->begins[i];
        else if (role->begins[i] < span.end)
            span.end = role->begins[i];
    return span;
}

void baseline_forget_hidden(struct baseline *baseline)
{
    free(baseline->hidden);
    baseline->hidden = NULL;
}

void baseline_release(struct baseline *baseline)
{
    for (size_t i = 0; i < baseline->role_count; i++) {
        free(baseline->roles[i].ranks);
        free(baseline->roles[i].begins);
        free(baseline->roles[i].limits);
        if (baseline->cells)
            free(baseline->cells[i]);
    }
    for (size_t i = 0; baseline->predecessors && i < baseline->rank_count; i++)
        free(baseline->predecessors[i]);
    free(baseline->predecessors);
    free(baseline->stretch_of_step);
    free(baseline->warm_up);
    free(baseline->positions);
    excess_list_release(&baseline->excess);
    free(baseline->hidden);
    free(baseline->step_ns);
    free(baseline->roles);
    free(baseline->cells);
    free(baseline->role_of_rank);
    free(baseline->rank_in_role);
    free(baseline->late_ns);
    free(baseline->explained_ns);
    *baseline = (struct baseline){0};
}

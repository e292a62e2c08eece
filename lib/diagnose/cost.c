/*
 * How much longer the steps of a finding were than others, which limits what it costs by the replay.
 */
#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/evidence.h"
#include "diagnose/finding.h"
#include "job/job.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>

/*
 * The claimed cost compared with the duration of the steps. In a network that is busy all the time some link
 * is always behind, now this one, now that one: the cost of such a link in the replay vanishes with the next
 * link. The real cost of a slow link shows in the step time. So does that of a rank where no record shows how
 * late the hosts of the others would have been while they waited for it (has_to_show). For any other late
 * rank it is enough that the step times do not contradict the cost.
 */

static int has_step(const struct costly_steps *steps, int32_t step)
{
    return step >= steps->first && step <= steps->last && (!steps->marks || steps->marks[step]);
}

/* Whether a step is one of those that are compared with the others. */
static int is_inside(const struct costly_steps *steps, int32_t step)
{
    return has_step(steps, step) && (!steps->led || steps->led[step]);
}

static int32_t count_inside(const struct costly_steps *steps)
{
    int32_t count = 0;
    for (int32_t step = steps->first; step <= steps->last; step++)
        count += is_inside(steps, step);
    return count;
}

/* What other findings cost in a step to compare with. Single steps are none of these. */
static int64_t cost_of_others(const struct costly_steps *steps, int32_t step)
{
    if (!steps->cost_ns)
        return 0;
    return steps->cost_ns[step] -
           (has_step(steps, step) ? steps->own_ns / (steps->last - steps->first + 1) : 0);
}

/*
 * Step times are compared within one regular part of the run (a stretch). If there is no information about
 * these, the run is one part.
 */
static int32_t stretch_of(const struct baseline *baseline, int32_t step)
{
    return baseline->stretch_of_step ? baseline->stretch_of_step[step] : 0;
}

/*
 * Whether a step is one to compare with: outside the finding, or led by another rank where that is known, in
 * the same part of the run, and of known duration.
 */
static int is_outside(const struct costly_steps *steps, const struct baseline *baseline, int32_t step)
{
    return !is_inside(steps, step) && stretch_of(baseline, step) == stretch_of(baseline, steps->first) &&
           baseline->step_ns[step] != TIME_UNKNOWN;
}

/* Whether its steps lie in several parts: then their total duration proves nothing. */
static int crosses_stretches(const struct costly_steps *steps, const struct baseline *baseline)
{
    for (int32_t step = steps->first; step <= steps->last; step++)
        if (stretch_of(baseline, step) != stretch_of(baseline, steps->first))
            return 1;
    return 0;
}

/*
 * The lower quartile of the durations of the steps outside; only of those in which no other finding has a
 * cost, if there are any. `list` has room for all steps.
 */
static int64_t lower_quartile(const struct costly_steps *steps, const struct baseline *baseline,
                              int64_t *list)
{
    for (int free_only = 1; free_only >= 0; free_only--) {
        size_t count = 0;
        for (int32_t step = baseline->first_step; step < baseline->step_count; step++)
            if (is_outside(steps, baseline, step) && (!free_only || cost_of_others(steps, step) <= 0))
                list[count++] = baseline->step_ns[step];
        if (count)
            return pick_quantile(list, count, 0.25);
    }
    return TIME_UNKNOWN;
}

/*
 * Lists the durations of the steps outside, less the cost of the other findings there. These costs may
 * overlap, so no step is reduced below the lower quartile.
 */
static size_t list_unburdened(const struct costly_steps *steps, const struct baseline *baseline,
                              int64_t *list)
{
    size_t count = 0;
    int64_t quartile = lower_quartile(steps, baseline, list);
    for (int32_t step = baseline->first_step; step < baseline->step_count; step++) {
        if (!is_outside(steps, baseline, step))
            continue;
        int64_t length = baseline->step_ns[step] - cost_of_others(steps, step);
        int64_t least = baseline->step_ns[step] < quartile ? baseline->step_ns[step] : quartile;
        list[count++] = length < least ? least : length;
    }
    return count;
}

/* How long the steps of the finding took together, and of how many that is known. */
static int64_t duration_of(const struct costly_steps *steps, const struct job *job,
                           const struct baseline *baseline, int64_t *list, int64_t *known)
{
    int64_t sum_ns = 0;
    *known = 0;
    if (!steps->marks && !steps->led) {
        int32_t end = steps->last + 1 < baseline->step_count ? steps->last + 1 : steps->last;
        *known = end - steps->first;
        return baseline_steps_duration_ns(baseline, job, steps->first, steps->last, list);
    }
    for (int32_t step = steps->first; step <= steps->last; step++)
        if (is_inside(steps, step) && baseline->step_ns[step] != TIME_UNKNOWN) {
            sum_ns += baseline->step_ns[step];
            ++*known;
        }
    return *known ? sum_ns : TIME_UNKNOWN;
}

static void measure(struct lengthening *lengthening, const struct costly_steps *steps, const struct job *job,
                    const struct baseline *baseline, int64_t *list)
{
    int64_t known, inside_ns = duration_of(steps, job, baseline, list, &known);
    size_t count = list_unburdened(steps, baseline, list);
    if (count < 2 || inside_ns == TIME_UNKNOWN || crosses_stretches(steps, baseline))
        return;
    int64_t usual = median_of(list, count);
    int64_t longer = inside_ns - known * usual;
    double error_ns = sqrt((double)known) * (double)sigma_about(list, count, usual);
    double doubt = limit_of(LIMIT_ERRORS) * error_ns;
    /* Steps of unknown duration, such as the last of all, count like the others. */
    double all = (double)count_inside(steps) / (double)known;
    lengthening->is_known = 1;
    lengthening->error_ns = error_ns;
    lengthening->part = all;
    lengthening->some_ns = longer;
    lengthening->most_ns = scale(1, ((longer > 0 ? (double)longer : 0) + doubt) * all);
}

int lengthening_measure(struct lengthening *lengthening, const struct costly_steps *steps,
                        const struct job *job, const struct baseline *baseline)
{
    size_t count = (size_t)baseline->step_count;
    int64_t *list = array_new(job->rank_count > count ? job->rank_count : count, sizeof *list);
    if (!list)
        return -1;
    *lengthening = (struct lengthening){.most_ns = INT64_MAX};
    measure(lengthening, steps, job, baseline, list);
    free(list);
    return 0;
}

void finding_ask_steps(const struct findings *findings, struct finding *finding,
                       const struct lengthening *lengthening, int64_t gain_ns)
{
    double doubt = limit_of(LIMIT_ERRORS) * lengthening->error_ns, longer_ns = (double)lengthening->some_ns;
    /* A late rank shows by itself, so the steps only have to allow the gain. The others have to show in them.
     */
    if (finding->kind != FINDING_NETWORK && !lengthening->has_to_show)
        longer_ns += doubt;
    else if (longer_ns < doubt)
        longer_ns = 0;
    if (lengthening->is_known && gain_ns > 0)
        finding_ask(findings, finding, RULE_NOT_IN_STEPS, longer_ns * lengthening->part / (double)gain_ns);
}

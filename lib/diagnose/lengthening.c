#include "diagnose/lengthening.h"

#include "base/array.h"
#include "base/scale.h"
#include "base/statistics.h"
#include "baseline/step_durations.h"

#include <math.h>
#include <stdlib.h>

/*
 * What a suspicion is said to have cost, held against how long steps lasted. A network that has as much to do
 * as it can has always some link that is behind, now this, now that: what such a link costs in the replay is
 * gone with the next one. What a slow link truly costs shows in the length of steps. Of a late rank it is
 * enough that they do not speak against it.
 */

/* The last step whose length says what a suspicion cost. */
static int32_t shown_to(const struct suspect *suspect)
{
    return suspect->last_step + (suspect->shows_later ? 1 : 0);
}

/* The first such step. */
static int32_t shown_from(const struct suspect *suspect)
{
    return suspect->first_step - (suspect->shows_earlier ? 1 : 0);
}

/*
 * What may be waiting in a receive cost nothing by itself, and is no other suspicion that had a part in it;
 * nor has what may be chance made any step longer. What the next step shows of a single one is no part of
 * that.
 */
static int64_t cost_in_step(const struct suspect *suspect, int32_t step)
{
    int32_t later = suspect->first_step == suspect->last_step ? shown_to(suspect) - suspect->last_step : 0;
    if (suspect->hides_pairs || step < suspect->first_step + later || step > suspect->last_step + later)
        return 0;
    return suspect->chance <= limit_of(LIMIT_CHANCE) ? suspect->gain_ns / suspect_steps(suspect) : 0;
}

int suspects_sum_costs(struct suspects *suspects, int32_t step_count)
{
    suspects->cost_ns = array_new((size_t)step_count + 1, sizeof *suspects->cost_ns);
    for (size_t i = 0; suspects->cost_ns && i < suspects->count; i++) {
        const struct suspect *suspect = &suspects->items[i];
        for (int32_t step = suspect->first_step; step <= shown_to(suspect); step++)
            suspects->cost_ns[step] += cost_in_step(suspect, step);
    }
    return suspects->cost_ns ? 0 : -1;
}

/* What all other suspicions are said to have cost in a step. */
static int64_t cost_of_others(const struct suspects *suspects, const struct suspect *suspect, int32_t step)
{
    return suspects->cost_ns[step] - cost_in_step(suspect, step);
}

/* How long steps are is usual within a regular stretch; where nothing is known of those there is one. */
static int32_t stretch_of(const struct baseline *baseline, int32_t step)
{
    return baseline->stretch_of_step ? baseline->stretch_of_step[step] : 0;
}

/* Whether a step is none of the suspicion's, but of its stretch, and its length is known. */
static int is_outside(const struct suspect *suspect, const struct baseline *baseline, int32_t step)
{
    return (step < shown_from(suspect) || step > shown_to(suspect)) &&
           stretch_of(baseline, step) == stretch_of(baseline, suspect->first_step) &&
           baseline->step_ns[step] != TIME_UNKNOWN;
}

/* Whether its steps are of several stretches: then their lengths in all say nothing. */
static int crosses_stretches(const struct suspect *suspect, const struct baseline *baseline)
{
    for (int32_t step = suspect->first_step; step <= suspect->last_step; step++)
        if (stretch_of(baseline, step) != stretch_of(baseline, suspect->first_step))
            return 1;
    return 0;
}

/*
 * The lower quartile of such steps; of those in which no other suspicion cost anything where there are any.
 * `list` has room for all steps.
 */
static int64_t lower_quartile(const struct suspects *suspects, const struct suspect *suspect,
                              const struct baseline *baseline, int64_t *list)
{
    for (int free_only = 1; free_only >= 0; free_only--) {
        size_t count = 0;
        for (int32_t step = baseline->first_step; step < baseline->step_count; step++)
            if (is_outside(suspect, baseline, step) &&
                (!free_only || cost_of_others(suspects, suspect, step) <= 0))
                list[count++] = baseline->step_ns[step];
        if (count)
            return quantile_of(list, count, 0.25);
    }
    return TIME_UNKNOWN;
}

/*
 * The lengths of such steps without what the other suspicions cost, which were told apart with care, but may
 * have cost the same time: no step is taken to be shorter for it than the lower quartile.
 */
static size_t list_unburdened(const struct suspects *suspects, const struct suspect *suspect,
                              const struct baseline *baseline, int64_t *list)
{
    size_t count = 0;
    int64_t quartile = lower_quartile(suspects, suspect, baseline, list);
    for (int32_t step = baseline->first_step; step < baseline->step_count; step++) {
        if (!is_outside(suspect, baseline, step))
            continue;
        int64_t length = baseline->step_ns[step] - cost_of_others(suspects, suspect, step);
        int64_t least = baseline->step_ns[step] < quartile ? baseline->step_ns[step] : quartile;
        list[count++] = length < least ? least : length;
    }
    return count;
}

/* Whether nothing else is said to have cost anything in its steps. */
static int is_alone(const struct suspects *suspects, const struct suspect *suspect)
{
    for (int32_t step = shown_from(suspect); step <= shown_to(suspect); step++)
        if (cost_of_others(suspects, suspect, step) > 0)
            return 0;
    return 1;
}

/*
 * Of a late host, what most others were late by in its steps, too: what made all late may have made the steps
 * longer. What it cost is not less for that, once it is believed, as the others may have been late for it.
 */
static int64_t shared_with_hosts(const struct suspects *suspects, const struct suspect *suspect,
                                 const struct baseline *baseline)
{
    int64_t shared_ns = 0;
    if (suspect->kind != FINDING_HOST || !suspects->unrest_ns)
        return 0;
    for (int32_t step = suspect->first_step; step <= suspect->last_step; step++) {
        int64_t others_ns = suspects->unrest_ns[(size_t)step * baseline->rank_count + (size_t)suspect->rank];
        shared_ns += others_ns > 0 ? others_ns : 0;
    }
    return shared_ns;
}

/* What all others are said to have cost in its steps. */
static int64_t cost_beside(const struct suspects *suspects, const struct suspect *suspect)
{
    int64_t cost_ns = 0;
    for (int32_t step = shown_from(suspect); step <= shown_to(suspect); step++)
        cost_ns += cost_of_others(suspects, suspect, step);
    return cost_ns;
}

/*
 * By how much its steps were longer for something else, where one of them outstands the middle one: as many
 * as it has, of one that shows later the next of each. `list` has room for all steps.
 */
static int64_t longer_for_others(const struct suspect *suspect, const struct baseline *baseline,
                                 int64_t usual_ns, int64_t *list)
{
    size_t count = 0;
    int64_t over_ns = 0;
    for (int32_t step = suspect->first_step + (suspect->shows_later != 0); step <= shown_to(suspect); step++)
        if (baseline->step_ns[step] != TIME_UNKNOWN)
            list[count++] = baseline->step_ns[step] - usual_ns;
    if (count < 3)
        return 0;
    int64_t middle_ns = median_of(list, count),
            most_ns = middle_ns > 0 ? scale(middle_ns, limit_of(LIMIT_OUTSTANDING)) : 0;
    for (size_t i = 0; i < count; i++)
        over_ns += list[i] > most_ns ? list[i] - middle_ns : 0;
    return over_ns;
}

static void measure(const struct suspects *suspects, const struct suspect *suspect, const struct job *job,
                    const struct baseline *baseline, int64_t *list, struct lengthening *lengthening)
{
    int64_t inside_ns = baseline_lasted_ns(baseline, job, shown_from(suspect), shown_to(suspect), list);
    size_t count = list_unburdened(suspects, suspect, baseline, list);
    int32_t last = shown_to(suspect), end = last + 1 < baseline->step_count ? last + 1 : last;
    int64_t steps = end - shown_from(suspect);
    if (count < 2 || inside_ns == TIME_UNKNOWN || crosses_stretches(suspect, baseline))
        return;
    int64_t usual = median_of(list, count);
    int64_t longer = inside_ns - steps * usual;
    double error_ns = sqrt((double)steps) * (double)sigma_about(list, count, usual);
    double doubt = limit_of(LIMIT_ERRORS) * error_ns;
    /* Its steps whose length is not known, the last of all, count as those that are. */
    double all = (double)(last - shown_from(suspect) + 1) / (double)steps;
    lengthening->is_known = 1;
    lengthening->error_ns = error_ns;
    lengthening->part = all;
    lengthening->some_ns = longer;
    lengthening->most_ns = scale(1, ((longer > 0 ? (double)longer : 0) + doubt) * all);
    lengthening->longer_ns = scale(1, (double)longer * all);
    int64_t own_ns = longer - longer_for_others(suspect, baseline, usual, list);
    lengthening->beside_ns = cost_beside(suspects, suspect);
    lengthening->rest_ns = scale(1, ((double)(own_ns - lengthening->beside_ns) - doubt) * all);
    lengthening->shared_ns = shared_with_hosts(suspects, suspect, baseline);
    lengthening->least_ns = is_alone(suspects, suspect) ? lengthening->rest_ns - lengthening->shared_ns : 0;
}

int suspect_measure_steps(const struct suspects *suspects, const struct suspect *suspect,
                          const struct job *job, const struct baseline *baseline,
                          struct lengthening *lengthening)
{
    size_t steps = (size_t)baseline->step_count;
    int64_t *list = array_new(job->rank_count > steps ? job->rank_count : steps, sizeof *list);
    if (!list)
        return -1;
    *lengthening = (struct lengthening){.most_ns = INT64_MAX};
    measure(suspects, suspect, job, baseline, list, lengthening);
    free(list);
    return 0;
}

int64_t most_unshared(const struct lengthening *lengthening)
{
    if (lengthening->most_ns == INT64_MAX)
        return INT64_MAX;
    return lengthening->most_ns > lengthening->shared_ns ? lengthening->most_ns - lengthening->shared_ns : 0;
}

static void ask_network(struct suspect *suspect, const struct lengthening *lengthening)
{
    double some_ns = (double)lengthening->some_ns, error_ns = lengthening->error_ns;
    suspect_ask(suspect, RULE_NOT_IN_STEPS,
                suspect->gain_ns > 0 ? some_ns / (double)suspect->gain_ns : NOT_ASKED);
    /* Steps that are all of a length are at most shorter than that. */
    suspect_ask(suspect, RULE_WITHIN_SPREAD,
                error_ns > 0  ? some_ns / error_ns
                : some_ns < 0 ? some_ns
                              : NOT_ASKED);
}

void suspect_ask_steps(struct suspect *suspect, const struct lengthening *lengthening)
{
    int64_t worth_ns = suspect->gain_ns > suspect->margin_ns ? suspect->gain_ns : suspect->margin_ns;
    if (!lengthening->is_known)
        return;
    if (suspect->kind == FINDING_NETWORK) {
        ask_network(suspect, lengthening);
        return;
    }
    double doubt = limit_of(LIMIT_ERRORS) * lengthening->error_ns;
    int64_t longer_ns = lengthening->some_ns - lengthening->shared_ns;
    if (worth_ns > 0)
        suspect_ask(suspect, RULE_NOT_IN_STEPS_OF_LATE,
                    ((double)longer_ns + doubt) * lengthening->part / (double)worth_ns);
}

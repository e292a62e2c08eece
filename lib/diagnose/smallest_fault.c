#include "diagnose/smallest_fault.h"

#include "base/array.h"
#include "base/sort.h"
#include "base/statistics.h"
#include "diagnose/confidence.h"

#include <math.h>
#include <stdlib.h>

/* What is said holds for so many of the places of a step: some place is always restless. */
static const double PLACES = 0.9;

/* A row of so many steps speaks for itself. */
enum { ROW = 3 };

static int64_t max_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Of the limits that the places of all roles have; TIME_UNKNOWN: none has one. */
static int limit_of_places(const struct baseline *baseline, int in_all_steps, int64_t *limit_ns)
{
    size_t places = 0, count = 0;
    for (size_t role = 0; role < baseline->role_count; role++)
        places += (size_t)baseline->roles[role].length;
    int64_t *list = array_new(places, sizeof *list);
    for (size_t role = 0; list && role < baseline->role_count; role++)
        for (int32_t i = 0; i < baseline->roles[role].length; i++) {
            const struct place_limits *place = &baseline->roles[role].limits[i];
            int64_t ns = in_all_steps ? place->in_all_steps_ns : place->in_a_step_ns;
            if (ns != TIME_UNKNOWN)
                list[count++] = ns;
        }
    if (list)
        *limit_ns = quantile_of(list, count, PLACES);
    free(list);
    return list ? 0 : -1;
}

static int is_found(const struct findings *findings, int32_t rank, int32_t step)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        if (finding->confidence > CONFIDENCE_LOW && finding->rank == rank && step >= finding->first_step &&
            step <= finding->last_step)
            return 1;
    }
    return 0;
}

/* How late each rank was in each step, what findings say left out. NULL when memory is out. */
static int64_t *lateness_by_cell(const struct job *job, const struct baseline *baseline,
                                 const struct findings *findings)
{
    size_t steps = (size_t)baseline->step_count;
    int64_t *late_ns = array_new(job->rank_count * steps, sizeof *late_ns);
    for (size_t i = 0; late_ns && i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (operation->step >= baseline->first_step && !is_found(findings, operation->rank, operation->step))
            late_ns[(size_t)operation->rank * steps + (size_t)operation->step] +=
                excess_ns_at(&baseline->excess, i);
    }
    return late_ns;
}

/* Of single steps: what goes on is no noise, found or not (noise.h). Sorted. NULL when memory is out. */
static int64_t *list_lateness(const struct job *job, const struct baseline *baseline,
                              const struct findings *findings, int64_t least_ns, size_t *count)
{
    size_t steps = (size_t)baseline->step_count, cells = job->rank_count * steps;
    int64_t *late_ns = lateness_by_cell(job, baseline, findings);
    int64_t *list = array_new(cells, sizeof *list);
    *count = 0;
    for (size_t i = 0; late_ns && list && i < cells; i++) {
        int goes_on = (i % steps > 0 && late_ns[i - 1] >= least_ns) ||
                      (i % steps + 1 < steps && late_ns[i + 1] >= least_ns);
        if (late_ns[i] < least_ns || !goes_on)
            list[(*count)++] = late_ns[i];
    }
    if (!late_ns) {
        free(list);
        list = NULL;
    }
    free(late_ns);
    if (list)
        sort_integers(list, *count);
    return list;
}

/*
 * What each of three steps in a row has to be beyond for noise to make such a row rarely enough
 * (significance.h): of N cells, those that are as much make N (share)^3 of them.
 */
static int64_t beyond_rows(const int64_t *sorted, size_t count)
{
    size_t others = 0;
    while (others < count &&
           (double)count * pow((double)(others + 2) / (double)count, ROW) <= confidence_most_chance())
        others++;
    return count ? sorted[count - 1 - (others < count ? others : count - 1)] : 0;
}

/* Where something as great was seen and not believed, it has to be greater. */
static void heed_unbelieved(struct smallest_fault *smallest, const struct baseline *baseline,
                            const struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        if (finding->confidence != CONFIDENCE_LOW || finding->kind > FINDING_HOST || finding->first_step < 0)
            continue;
        int32_t steps = finding->last_step - finding->first_step + 1;
        int is_steady =
            finding->first_step <= baseline->first_step && finding->last_step == baseline->step_count - 1;
        int64_t *claim = steps == 1  ? &smallest->one_step_ns
                         : is_steady ? &smallest->every_step_ns
                                     : &smallest->three_steps_ns;
        if (*claim != TIME_UNKNOWN)
            *claim = max_of(*claim, finding->slow_ns / steps);
    }
}

int smallest_fault_measure(struct smallest_fault *smallest, const struct job *job,
                           const struct baseline *baseline, const struct findings *findings,
                           const struct diagnose_options *options)
{
    size_t count;
    int64_t place_ns, all_ns, least_ns = confidence_least_of_several_ns(baseline, options) / 2,
                              *late_ns = list_lateness(job, baseline, findings, least_ns, &count);
    *smallest = (struct smallest_fault){TIME_UNKNOWN, TIME_UNKNOWN, TIME_UNKNOWN};
    if (!late_ns || limit_of_places(baseline, 0, &place_ns) || limit_of_places(baseline, 1, &all_ns)) {
        free(late_ns);
        return -1;
    }
    if (place_ns != TIME_UNKNOWN && count && baseline->median_step_ns) {
        smallest->one_step_ns =
            max_of(place_ns, confidence_least_alone_ns(baseline, options, late_ns[count - 1]));
        smallest->three_steps_ns = max_of(max_of(place_ns, beyond_rows(late_ns, count)),
                                          confidence_least_of_several_ns(baseline, options));
        if (all_ns != TIME_UNKNOWN)
            smallest->every_step_ns = max_of(all_ns, confidence_least_of_all_ns(baseline, options));
    }
    heed_unbelieved(smallest, baseline, findings);
    free(late_ns);
    return 0;
}

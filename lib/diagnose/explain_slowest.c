/*
 * Which ranks of a unit were slow in the steps of a fault, and the smallest fault that would be certain.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/score.h"
#include "job/job.h"

#include <math.h>

/* By how much a rank was slow in the steps of a fault, in their sum or usually; TIME_UNKNOWN. */
static int64_t slow_of(const struct explanation_search *it, const struct explanation *fault, int32_t rank)
{
    size_t steps = (size_t)it->source.baseline->step_count;
    int32_t role = it->source.baseline->role_of_rank[rank];
    const struct residual_matrix *residuals =
        role >= 0 ? explanation_search_residual_matrix(it, (size_t)role, 0) : NULL;
    if (!residuals || residuals->units < 2)
        return TIME_UNKNOWN;
    size_t at = (size_t)it->source.baseline->rank_in_role[rank];
    if (fault->is_steady && fault->measure == MEASURE_OWN)
        return residuals->level[at].apart_ns;
    const int64_t *values = &explanation_search_values(residuals, fault->measure)[at * steps];
    int64_t slow_ns = 0;
    for (size_t step = 0; step < steps; step++)
        if (it->marked[step] && values[step] != TIME_UNKNOWN)
            slow_ns += values[step];
    return slow_ns;
}

int32_t explanation_search_slowest(const struct explanation_search *it, const struct explanation *fault)
{
    const struct partition *partition = fault->partition;
    int32_t slowest = partition->ranks[partition->first[fault->unit]];
    int64_t most_ns = slow_of(it, fault, slowest);
    for (size_t i = partition->first[fault->unit] + 1; i < partition->first[fault->unit + 1]; i++) {
        int64_t slow_ns = slow_of(it, fault, partition->ranks[i]);
        if (slow_ns > most_ns) {
            most_ns = slow_ns;
            slowest = partition->ranks[i];
        }
    }
    return slowest;
}

/* By how much the rank of a fault was slow that was so by the least; TIME_UNKNOWN. */
static int64_t least_slow(const struct explanation_search *it, const struct explanation *fault)
{
    const struct partition *partition = fault->partition;
    int64_t least_ns = INT64_MAX;
    for (size_t i = partition->first[fault->unit]; i < partition->first[fault->unit + 1]; i++) {
        int64_t slow_ns = slow_of(it, fault, partition->ranks[i]);
        least_ns = slow_ns < least_ns ? slow_ns : least_ns;
    }
    return least_ns;
}

int explanation_search_are_all_slow(const struct explanation_search *it, const struct explanation *fault,
                                    const struct explanation *part)
{
    int64_t least_ns = least_slow(it, part);
    return least_ns > 0 && least_slow(it, fault) >= least_ns / 2;
}

int64_t explanation_search_least(const struct explanation_search *it, int32_t counted)
{
    const struct baseline *baseline = it->source.baseline;
    int64_t sigma_ns = 0;
    for (size_t role = 0; role < baseline->role_count; role++) {
        int64_t here_ns = it->sigma_ns[MEASURE_OWN][role * it->found->partitions.count];
        sigma_ns = here_ns > sigma_ns ? here_ns : sigma_ns;
    }
    double needed = it->acceptance_limits->certainty +
                    scan_sets(baseline->step_count - baseline->first_step) + explanation_search_penalty(it);
    double each = needed / counted * 2 / (SCAN_TAIL_OWN + 1);
    return scale(sigma_ns, sqrt(SCAN_TAIL_OWN * expm1(each)));
}

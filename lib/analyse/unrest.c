#include "analyse/finding.h"

#include "base/array.h"
#include "base/sort.h"

#include <stdlib.h>

/* Steps in which the hosts of all ranks were late. */

static int64_t lateness_of(const struct baseline *baseline, size_t rank, int32_t step)
{
    return baseline->late_ns[rank * (size_t)baseline->step_count + (size_t)step];
}

/* Of fewer ranks the others do not tell what is usual in a role. */
enum { RANKS_OF_ROLE = 3 };

/*
 * How late the middle one of the other hosts was, for each rank in a step, in `others`; TIME_UNKNOWN where
 * there are no others. `sorted` has room for all ranks.
 */
static void measure_others(const struct baseline *baseline, int32_t step, int64_t *sorted, int64_t *others)
{
    size_t count = 0;
    for (size_t i = 0; i < baseline->rank_count; i++)
        if (baseline->role_of_rank[i] >= 0)
            sorted[count++] = lateness_of(baseline, i, step);
    sort_integers(sorted, count);
    for (size_t i = 0; i < baseline->rank_count; i++)
        if (baseline->role_of_rank[i] >= 0)
            others[i] = median_without(sorted, count, lateness_of(baseline, i, step));
}

/* The same of those that play one role, which may pause where others do not: where that is more. */
static void measure_role(const struct baseline *baseline, const struct role *role, int32_t step,
                         int64_t *sorted, int64_t *others)
{
    for (size_t i = 0; i < role->rank_count; i++)
        sorted[i] = lateness_of(baseline, (size_t)role->ranks[i], step);
    sort_integers(sorted, role->rank_count);
    for (size_t i = 0; i < role->rank_count; i++) {
        int32_t rank = role->ranks[i];
        int64_t others_ns =
            median_without(sorted, role->rank_count, lateness_of(baseline, (size_t)rank, step));
        if (others_ns > others[rank])
            others[rank] = others_ns;
    }
}

/* What the hosts have in common, of each rank in each step. */
static int measure_unrest(struct suspects *suspects, const struct baseline *baseline)
{
    size_t ranks = baseline->rank_count;
    int64_t *sorted = array_new(ranks, sizeof *sorted);
    suspects->unrest_ns = array_new(ranks * (size_t)(baseline->step_count + 1), sizeof *suspects->unrest_ns);
    int failed = !suspects->unrest_ns || !sorted;
    for (int32_t step = 0; !failed && step < baseline->step_count; step++) {
        int64_t *others = suspects->unrest_ns + (size_t)step * ranks;
        measure_others(baseline, step, sorted, others);
        for (size_t i = 0; i < baseline->role_count; i++)
            if (baseline->roles[i].rank_count >= RANKS_OF_ROLE)
                measure_role(baseline, &baseline->roles[i], step, sorted, others);
    }
    free(sorted);
    return failed ? -1 : 0;
}

/*
 * Whether at least half of what a rank was late by in its steps is what all hosts were late by in them. What
 * they were late by in a few steps says nothing of what its GPU took longer for in others.
 */
static int is_unrest(const struct suspect *suspect, const struct baseline *baseline, const int64_t *others)
{
    int64_t shared_ns = 0, late_ns = 0;
    int32_t steps = suspect->last_step - suspect->first_step + 1, unrest = 0;
    int64_t least_ns = suspect->total_ns / steps;
    for (int32_t step = suspect->first_step; step <= suspect->last_step; step++) {
        int64_t others_ns = others[(size_t)step * baseline->rank_count + (size_t)suspect->rank];
        int64_t mine_ns = lateness_of(baseline, (size_t)suspect->rank, step);
        if (others_ns == TIME_UNKNOWN)
            return 1;
        mine_ns = mine_ns > least_ns ? mine_ns : least_ns;
        late_ns += mine_ns;
        if (others_ns > 0)
            shared_ns += others_ns < mine_ns ? others_ns : mine_ns;
        unrest += others_ns * 2 >= mine_ns;
    }
    return shared_ns >= late_ns / 2 && (suspect->kind == FINDING_HOST || unrest * 2 > steps);
}

/*
 * Whether the host of another rank was late by half as much in each of its steps: it may have waited for that
 * one, in what does not tell until when.
 */
static int is_beside_late_host(const struct suspect *suspect, const struct baseline *baseline, int32_t rank)
{
    int64_t mean_ns = suspect->total_ns / (suspect->last_step - suspect->first_step + 1);
    for (int32_t step = suspect->first_step; step <= suspect->last_step; step++)
        if (lateness_of(baseline, (size_t)rank, step) < mean_ns / 2)
            return 0;
    return 1;
}

static int has_late_host_beside(const struct suspect *suspect, const struct baseline *baseline)
{
    for (int32_t rank = 0; (size_t)rank < baseline->rank_count; rank++)
        if (rank != suspect->rank && baseline->role_of_rank[rank] >= 0 &&
            is_beside_late_host(suspect, baseline, rank))
            return 1;
    return 0;
}

int suspects_doubt_unrest(struct suspects *suspects, const struct baseline *baseline)
{
    if (suspects->count && measure_unrest(suspects, baseline))
        return -1;
    for (size_t i = 0; i < suspects->count; i++) {
        struct suspect *suspect = &suspects->items[i];
        if (suspect->kind != FINDING_NETWORK && is_unrest(suspect, baseline, suspects->unrest_ns))
            suspect->ambiguous = 1;
        suspect->beside_late_host = suspect->kind == FINDING_COMPUTE && !suspect_is_noise(suspect) &&
                                    has_late_host_beside(suspect, baseline);
    }
    return 0;
}

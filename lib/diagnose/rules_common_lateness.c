#include "diagnose/rules_common_lateness.h"

#include "base/array.h"
#include "base/statistics.h"
#include "baseline/cells.h"
#include "diagnose/significance.h"

#include <stdlib.h>

/* Steps in which the hosts of all ranks were late. */

static int64_t lateness_of(const struct baseline *baseline, size_t rank, int32_t step)
{
    return baseline->late_ns[rank * (size_t)baseline->step_count + (size_t)step];
}

/*
 * How late the middle one of the others of a list was, for each of its ranks in a step, in `others` where
 * that is more than what is there. `list` has room for all ranks.
 */
static void measure_others(const struct baseline *baseline, const int32_t *ranks, size_t count, int32_t step,
                           int64_t *list, int64_t *others)
{
    for (size_t i = 0; i < count; i++)
        list[i] = lateness_of(baseline, (size_t)ranks[i], step);
    struct middles middles = middles_of(list, count);
    for (size_t i = 0; i < count; i++) {
        int64_t others_ns = median_of_others(&middles, lateness_of(baseline, (size_t)ranks[i], step));
        if (others_ns > others[ranks[i]])
            others[ranks[i]] = others_ns;
    }
}

/* All that play a role. */
static size_t list_players(const struct baseline *baseline, int32_t *ranks)
{
    size_t count = 0;
    for (size_t i = 0; i < baseline->rank_count; i++)
        if (baseline->role_of_rank[i] >= 0)
            ranks[count++] = (int32_t)i;
    return count;
}

/* Of all in a step, and of those that play one role, which may pause where others do not. */
static void measure_step(const struct baseline *baseline, const int32_t *players, size_t count, int32_t step,
                         int64_t *list, int64_t *others)
{
    measure_others(baseline, players, count, step, list, others);
    for (size_t i = 0; i < baseline->role_count; i++) {
        const struct role *role = &baseline->roles[i];
        if ((double)role->rank_count >= limit_of(LIMIT_RANKS_OF_ROLE))
            measure_others(baseline, role->ranks, role->rank_count, step, list, others);
    }
}

/* What the hosts have in common, of each rank in each step; TIME_UNKNOWN where there are no others. */
static int measure_unrest(struct suspects *suspects, const struct baseline *baseline)
{
    size_t ranks = baseline->rank_count, cells = ranks * (size_t)baseline->step_count;
    int64_t *list = array_new(ranks, sizeof *list);
    int32_t *players = array_new(ranks, sizeof *players);
    suspects->unrest_ns = array_new(cells, sizeof *suspects->unrest_ns);
    int failed = !suspects->unrest_ns || !list || !players;
    for (size_t i = 0; !failed && i < cells; i++)
        suspects->unrest_ns[i] = TIME_UNKNOWN;
    size_t count = failed ? 0 : list_players(baseline, players);
    for (int32_t step = 0; !failed && step < baseline->step_count; step++)
        measure_step(baseline, players, count, step, list, suspects->unrest_ns + (size_t)step * ranks);
    free(list);
    free(players);
    return failed ? -1 : 0;
}

/* Whether another rank of the role tells how long its own time was at a place. */
static int another_tells(const struct baseline *baseline, int32_t role, int32_t position, int32_t step,
                         size_t but)
{
    for (size_t rank = 0; rank < baseline->roles[role].rank_count; rank++) {
        int32_t cell = baseline_cell(baseline, role, position, rank, step);
        if (rank != but && cell >= 0 && excess_listed(&baseline->excess, cell).beyond_ns != TIME_UNKNOWN)
            return 1;
    }
    return 0;
}

/* Whether another rank tells that of the operation itself. */
static int another_member_tells(const struct job *job, const struct baseline *baseline, int32_t operation)
{
    const struct job_instance *instance = &job->instances[job->operations[operation].instance];
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t member = job_member_at(job, instance, i);
        if (member != operation && excess_listed(&baseline->excess, member).beyond_ns != TIME_UNKNOWN)
            return 1;
    }
    return 0;
}

/*
 * Whether most of what a rank was late by in a step was own time where no other tells its own. Lateness whose
 * origin is hidden (baseline.h) is held against others already.
 */
static int is_alone_in(const struct suspect *suspect, const struct job *job, const struct baseline *baseline,
                       int32_t step)
{
    int32_t role = baseline->role_of_rank[suspect->rank];
    int64_t late_ns = 0, alone_ns = 0;
    if (role < 0 || !baseline->cells)
        return 0;
    size_t place = (size_t)baseline->rank_in_role[suspect->rank];
    for (int32_t position = 0; position < baseline->roles[role].length; position++) {
        int32_t cell = baseline_cell(baseline, role, position, place, step);
        int64_t excess_ns = cell < 0 ? 0 : excess_ns_at(&baseline->excess, cell);
        late_ns += excess_ns;
        if (excess_ns > 0 && excess_listed(&baseline->excess, cell).beyond_ns != TIME_UNKNOWN &&
            !another_tells(baseline, role, position, step, place) &&
            !another_member_tells(job, baseline, cell))
            alone_ns += excess_ns;
    }
    return alone_ns * 2 > late_ns;
}

/* In how many of its steps there are no others; where others tell nothing in most of them, in how many. */
static double measure_no_peers(const struct suspect *suspect, const struct job *job,
                               const struct baseline *baseline, const int64_t *others)
{
    int32_t alone = 0, untold = 0;
    for (int32_t step = suspect->first_step; step <= suspect->last_step; step++) {
        alone += others[(size_t)step * baseline->rank_count + (size_t)suspect->rank] == TIME_UNKNOWN;
        untold += is_alone_in(suspect, job, baseline, step);
    }
    return untold * 2 > suspect_steps(suspect) && untold > alone ? untold : alone;
}

/*
 * How much of what a rank was late by in its steps is what all hosts were late by in them. What they were
 * late by in a few steps says nothing of what its GPU took longer for in others.
 */
static double measure_common(const struct suspect *suspect, const struct baseline *baseline,
                             const int64_t *others)
{
    int64_t shared_ns = 0, late_ns = 0;
    int32_t steps = suspect_steps(suspect), unrest = 0;
    int64_t least_ns = suspect->total_ns / steps;
    for (int32_t step = suspect->first_step; step <= suspect->last_step; step++) {
        int64_t others_ns = others[(size_t)step * baseline->rank_count + (size_t)suspect->rank];
        int64_t mine_ns = lateness_of(baseline, (size_t)suspect->rank, step);
        if (others_ns == TIME_UNKNOWN)
            return NOT_ASKED;
        mine_ns = mine_ns > least_ns ? mine_ns : least_ns;
        late_ns += mine_ns;
        if (others_ns > 0)
            shared_ns += others_ns < mine_ns ? others_ns : mine_ns;
        unrest += others_ns * 2 >= mine_ns;
    }
    return suspect->kind == FINDING_HOST || unrest * 2 > steps ? ratio_of(shared_ns, late_ns) : NOT_ASKED;
}

int suspects_doubt_unrest(struct suspects *suspects, const struct job *job, const struct baseline *baseline)
{
    if (suspects->count && measure_unrest(suspects, baseline))
        return -1;
    for (size_t i = 0; i < suspects->count; i++) {
        struct suspect *suspect = &suspects->items[i];
        if (suspect->kind == FINDING_NETWORK)
            continue;
        suspect_ask(suspect, RULE_NO_PEERS, measure_no_peers(suspect, job, baseline, suspects->unrest_ns));
        suspect_ask(suspect, RULE_COMMON_LATENESS, measure_common(suspect, baseline, suspects->unrest_ns));
    }
    return 0;
}

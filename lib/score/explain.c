#include "score/explain.h"

#include "base/array.h"
#include "score/explain_cost.h"

#include <stdlib.h>

/* More faults in one job are a job that nobody can read: each takes one replay for every kind of unit. */
enum { MOST_EXPLANATIONS = 12 };

void explanations_release(struct explanations *explanations)
{
    partitions_release(&explanations->partitions);
    free(explanations->items);
    *explanations = (struct explanations){0};
}

static void mark_explained(struct explaining *it, const struct explanation *explanation)
{
    const struct partition *partition = explanation->partition;
    size_t steps = (size_t)it->source.baseline->step_count;
    for (size_t i = partition->first[explanation->unit]; i < partition->first[explanation->unit + 1]; i++) {
        int32_t rank = partition->ranks[i], role = it->source.baseline->role_of_rank[rank];
        for (size_t step = 0; step < steps; step++)
            it->explained[(size_t)rank * steps + step] |= it->marked[step];
        if (role >= 0)
            it->dirty[role] = 1;
    }
}

static int believe(struct explaining *it, const struct explanation *explanation)
{
    if (array_reserve((void **)&it->found->items, &it->found->capacity, it->found->count + 1,
                      sizeof *explanation))
        return -1;
    struct explanation *found = &it->found->items[it->found->count];
    *found = *explanation;
    if (explaining_take_out(it, found))
        return -1;
    it->found->count++;
    it->lasts_ns -= found->gain_ns;
    explaining_settle(it);
    mark_explained(it, found);
    return 0;
}

/* Whether it costs enough. */
static int is_worth(const struct explaining *it, const struct explanation *fault)
{
    const struct belief *belief = it->belief;
    if (fault->gain_ns >= belief->worth_ns * fault->counted)
        return 1;
    return explanation_counts_partners(fault) && fault->certainty >= belief->sure &&
           fault->margin_ns >= belief->worth_waited_ns * fault->counted &&
           fault->gain_ns >= belief->least_ns * fault->counted;
}

static void leave_idle(struct explaining *it, const struct explanation *proposal)
{
    it->idle[it->idle_count++] =
        (struct idle){proposal->partition, proposal->unit, proposal->steps.first, proposal->steps.last};
}

static int explain(struct explaining *it, struct error *error)
{
    struct explanation best;
    int found = 0;
    while (it->found->count < MOST_EXPLANATIONS && it->idle_count < MOST_IDLE &&
           (found = explaining_best(it, &best)) > 0) {
        struct explanation proposed = best;
        if (explaining_replay(it) || explaining_fit(it, &best))
            return error_no_memory(error);
        if (best.gain_ns < explaining_least_gain(it, &best)) {
            leave_idle(it, &proposed);
            continue;
        }
        explaining_measure(it, &best);
        if (explaining_locate(it, &best))
            return error_no_memory(error);
        if (!is_worth(it, &best))
            leave_idle(it, &proposed);
        else if (believe(it, &best))
            return error_no_memory(error);
    }
    return found < 0 ? error_no_memory(error) : 0;
}

int explanations_find(struct explanations *explanations, const struct job *job,
                      const struct baseline *baseline, const struct edges *edges,
                      const struct transfer_excess *transfers, struct replay *replay,
                      const struct belief *belief, struct error *error)
{
    struct explaining it = {.found = explanations, .belief = belief, .replay = replay};
    *explanations = (struct explanations){0};
    if (!baseline_is_regular(baseline) || !baseline->median_step_ns)
        return 0;
    int failed = partitions_init(&explanations->partitions, job, edges) ||
                         explaining_init(&it, job, baseline, transfers)
                     ? error_no_memory(error)
                     : explain(&it, error);
    explaining_release(&it);
    return failed;
}

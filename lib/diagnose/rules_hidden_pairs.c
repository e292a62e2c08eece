#include "diagnose/rules_hidden_pairs.h"

#include "base/array.h"
#include "base/top_two.h"
#include "job/stages.h"
#include "job/step_index.h"

#include <stdlib.h>

/* What a recorder hides that leaves point-to-point operations out. */

/* So many operations of a step are looked at, whatever a trace claims. */
enum { MOST_LOOKED_AT = 4096 };

/* Own time less what is beyond the usual, as far as that is known. */
static int64_t usual_own_ns(const struct job_operation *operation, const struct excess excess)
{
    return operation->own_ns - (excess.beyond_ns == TIME_UNKNOWN ? 0 : excess.beyond_ns);
}

/*
 * The least usual own time that the rank has before other operations of the kind in the same step. One of the
 * same place is none: where the record is lost that divides two steps, they are one.
 */
static int64_t least_of_kind(const struct job *job, const struct baseline *baseline,
                             const struct job_operation *operation)
{
    int64_t least = -1;
    int32_t position = baseline->positions[operation - job->operations];
    if (operation->step < 0)
        return least;
    struct job_range range = job_operations_in(job, operation->rank, operation->step, operation->step);
    for (size_t i = range.first; i < range.end && i - range.first < MOST_LOOKED_AT; i++) {
        const struct job_operation *other = &job->operations[i];
        int64_t usual_ns = usual_own_ns(other, excess_listed(&baseline->excess, i));
        if (baseline->positions[i] >= 0 && baseline->positions[i] != position &&
            other->step == operation->step && other->communicator == operation->communicator &&
            other->function == operation->function && other->own_ns != TIME_UNKNOWN &&
            (least < 0 || usual_ns < least))
            least = usual_ns;
    }
    return least;
}

int may_hide_pair(const struct job *job, const struct baseline *baseline,
                  const struct job_operation *operation)
{
    int64_t least = least_of_kind(job, baseline, operation);
    return operation->previous >= 0 &&
           (least < 0 || (double)usual_own_ns(operation, excess_of(baseline, job, operation)) >
                             limit_of(LIMIT_HIDDEN_PAIR) * (double)least);
}

static int64_t excess_in_step(const struct job *job, const struct baseline *baseline, int32_t rank,
                              int32_t step)
{
    int64_t excess_ns = 0;
    struct job_range range = job_operations_in(job, rank, step, step);
    for (size_t i = range.first; i < range.end; i++)
        if (job->operations[i].step == step)
            excess_ns += excess_ns_at(&baseline->excess, i);
    return excess_ns;
}

/* Per step, the rank that was late by itself the most, and the next one. */
static struct top_two *find_latest(const struct job *job, const struct baseline *baseline)
{
    struct top_two *latest = array_new((size_t)job->step_count + 1, sizeof *latest);
    for (int32_t step = 0; latest && step < job->step_count; step++) {
        latest[step] = (struct top_two){.rank = -1};
        for (size_t rank = 0; rank < job->rank_count; rank++)
            top_two_enter(&latest[step], (int32_t)rank, excess_in_step(job, baseline, (int32_t)rank, step));
    }
    return latest;
}

/* The share of its steps in which another rank was late by itself too, by half as much. */
static double measure_exchange(const struct suspect *suspect, const struct job *job,
                               const struct baseline *baseline, const struct top_two *latest)
{
    int32_t shared = 0;
    for (int32_t step = suspect->first_step; step <= suspect->last_step; step++) {
        int64_t others = latest[step].rank == suspect->rank ? latest[step].second : latest[step].most;
        shared += others * 2 >= excess_in_step(job, baseline, suspect->rank, step);
    }
    return ratio_of(shared, suspect_steps(suspect));
}

int suspects_doubt_exchanges(struct suspects *suspects, const struct job *job,
                             const struct baseline *baseline)
{
    struct top_two *latest;
    if (!job->blind_to_pairs || job->in_stages)
        return 0;
    latest = find_latest(job, baseline);
    for (size_t i = 0; latest && i < suspects->count; i++)
        if (suspects->items[i].kind != FINDING_NETWORK)
            suspect_ask(&suspects->items[i], RULE_EXCHANGE,
                        measure_exchange(&suspects->items[i], job, baseline, latest));
    int failed = latest ? 0 : -1;
    free(latest);
    return failed;
}

/* Whether a rank of another stage was late in the same steps by what may be receives: of the slow sends. */
static int has_receiver(const struct suspects *suspects, const struct suspect *network, const int32_t *stage)
{
    for (size_t i = 0; i < suspects->count; i++) {
        const struct suspect *other = &suspects->items[i];
        if (other->kind != FINDING_NETWORK && other->hides_pairs &&
            stage[other->rank] != stage[network->rank] && suspects_are_together(network, other))
            return 1;
    }
    return 0;
}

/* One step or two may be a moment that has passed, and what is slow then is told by who was late. */
static void join_hidden_sends(const struct suspects *suspects, struct suspect *network)
{
    for (size_t i = 0; i < suspects->count; i++) {
        const struct suspect *held = &suspects->items[i];
        if (held->kind == FINDING_NETWORK || !held->hides_pairs || held->rank != network->rank ||
            !suspects_are_together(network, held))
            continue;
        network->chance = held->chance < network->chance ? held->chance : network->chance;
        network->ahead = held->ahead > network->ahead ? held->ahead : network->ahead;
    }
}

int suspects_join_hidden_sends(struct suspects *suspects, const struct job *job)
{
    int32_t *stage = job->blind_to_pairs ? stages_find(job) : NULL;
    for (size_t i = 0; stage && i < suspects->count; i++) {
        struct suspect *network = &suspects->items[i];
        if (network->kind == FINDING_NETWORK && network->counted_steps >= limit_of(LIMIT_STEPS_TOLD) &&
            has_receiver(suspects, network, stage))
            join_hidden_sends(suspects, network);
    }
    int failed = job->blind_to_pairs && !stage;
    free(stage);
    return failed ? -1 : 0;
}

#include "diagnose/candidates_network.h"

#include "base/array.h"
#include "base/scale.h"
#include "diagnose/significance.h"
#include "diagnose/step_runs.h"
#include "job/step_index.h"
#include "network/blame_by_cover.h"
#include "network/blame_by_edges.h"
#include "network/slow_transfers.h"

/*
 * Ranks whose transfers were slow. First the instances whose transfer stands out against the same place of
 * other steps and of other communicators; then whom that is blamed on, by edges (blame_by_edges.c) or,
 * without network steps, by who shares slow transfers (blame_by_cover.c).
 */

static void gather(const struct job *job, const struct transfer_excess *transfers, struct strength *strength)
{
    for (size_t i = 0; i < job->instance_count; i++) {
        int32_t step = job->instances[i].step;
        if (transfers[i].culprit >= 0 && step >= 0)
            *strength_cell(strength, (size_t)transfers[i].culprit, step) += transfers[i].slow_ns;
    }
}

/*
 * What is usual in single steps: every transfer that took longer than usual, whether it stands out or not;
 * of those with network steps where there are any.
 */
static int take_samples(const struct job *job, const struct edges *edges,
                        const struct transfer_excess *transfers, struct strength *strength)
{
    strength->samples = array_new(job->instance_count, sizeof *strength->samples);
    for (size_t i = 0; strength->samples && i < job->instance_count; i++) {
        int32_t step = job->instances[i].step;
        if (step <= strength->first_step || transfers[i].beyond_ns <= 0 ||
            (edges->count && edges->first[i] == edges->first[i + 1]))
            continue;
        strength->samples[strength->sample_count++] =
            (struct sample){transfers[i].beyond_ns, transfers[i].culprit, step};
    }
    return strength->samples ? 0 : -1;
}

/*
 * What an edge of a suspect added to an operation that took no longer than the usual at its place, because
 * that is the suspect's doing elsewhere at the same time: at most the longest wait, where it waited twice as
 * long as it usually does.
 */
static int64_t added_by(const struct edge *edge)
{
    if (edge->extra_ns * 2 <= edge->wait_ns)
        return 0;
    return edge->extra_ns < edge->wait_max_ns ? edge->extra_ns : edge->wait_max_ns;
}

/*
 * Once a rank's sending is under suspicion, what else it sent in in those steps counts too where that took
 * longer than usual, though not by enough to stand out alone: the cost of a fault is all of it.
 */
static void widen(const struct suspect *suspect, const struct job *job, const struct edges *edges,
                  struct transfer_excess *transfers)
{
    struct job_range instances = suspect_instances(suspect, job);
    for (size_t i = instances.first; i < instances.end; i++) {
        int32_t at = job->by_step[i];
        struct transfer_excess *transfer = &transfers[at];
        if (transfer->culprit >= 0 || transfer->beyond_ns == TIME_UNKNOWN)
            continue;
        for (size_t j = edges->first[at]; j < edges->first[at + 1]; j++) {
            const struct edge *edge = &edges->items[j];
            int64_t slow_ns = transfer->beyond_ns > 0 ? transfer->beyond_ns : added_by(edge);
            if ((edge->sender == suspect->rank || edge->receiver == suspect->rank) && edge->extra_ns > 0 &&
                slow_ns > 0) {
                transfer->slow_ns = slow_ns;
                transfer->some_ns = transfer->some_ns < slow_ns ? transfer->some_ns : slow_ns;
                transfer->culprit = suspect->rank;
            }
        }
    }
}

/*
 * Connections take several steps to get up to speed: what is slow from the start and then no more may be
 * that, unless it lasts longer than a step in each.
 */
static void doubt_connecting(struct suspect *suspect, const struct baseline *baseline)
{
    if (suspect->after_warm_up && suspect->last_step < baseline->step_count - 1 && suspect_steps(suspect) > 2)
        suspect_ask(suspect, RULE_CONNECTING, ratio_of(suspect->weakest_ns, baseline->median_step_ns));
}

/* Whether an operation is the last that its rank has in a step. */
static int ends_step(const struct job *job, const struct baseline *baseline, int32_t operation)
{
    const struct job_operation *last = &job->operations[operation];
    int32_t role = baseline->role_of_rank[last->rank];
    int32_t position = role >= 0 ? baseline->positions[operation] : -1;
    return position >= 0 && position == role_programme(&baseline->roles[role], position).end - 1;
}

/*
 * The length of a step is how long after each other ranks began it and the next. A slow link that held only
 * some of them in the last operation of the step left the others to begin the next, and wait there: it made
 * that one longer. Whether that was more than half of what the suspicion was slow by in its last step.
 */
static int is_slow_at_end(const struct suspect *suspect, const struct job *job,
                          const struct baseline *baseline, const struct transfer_excess *transfers)
{
    int64_t all_ns = 0, end_ns = 0;
    struct job_range instances = job_instances_in(job, suspect->last_step, suspect->last_step);
    for (size_t i = instances.first; i < instances.end; i++) {
        const struct job_instance *instance = &job->instances[job->by_step[i]];
        const struct transfer_excess *transfer = &transfers[job->by_step[i]];
        if (!suspect_has_instance(suspect, instance, transfer))
            continue;
        all_ns += transfer->slow_ns;
        if (instance->transfer_ns != TIME_UNKNOWN &&
            ends_step(job, baseline, job->instance_members[instance->first_member]))
            end_ns += transfer->some_ns;
    }
    return end_ns * 2 > all_ns && suspect->last_step + 2 < baseline->step_count;
}

int suspect_network(struct suspects *suspects, const struct job *job, const struct baseline *baseline,
                    const struct edges *edges, struct transfer_excess *transfers,
                    const struct diagnose_options *options, struct error *error)
{
    struct strength strength = {0};
    size_t first = suspects->count;
    int failed = transfers_find_slow(job, baseline, options->sigmas, transfers) ||
                 strength_init(&strength, job, baseline);
    if (!failed && edges->count) {
        failed = transfers_find_slow_links(job, edges, transfers) || edges_blame(job, edges, transfers);
    } else if (!failed) {
        failed = cover_slow_instances(job, baseline, transfers);
    }
    int64_t least_ns = scale(baseline->median_step_ns, options->min_gain / 2);
    if (!failed)
        gather(job, transfers, &strength);
    failed = failed || take_samples(job, edges, transfers, &strength) ||
             strength_find(&strength, least_ns > 0 ? least_ns : 1, FINDING_NETWORK, suspects);
    for (size_t i = first; !failed && i < suspects->count; i++) {
        doubt_connecting(&suspects->items[i], baseline);
        widen(&suspects->items[i], job, edges, transfers);
        suspects->items[i].shows_later = is_slow_at_end(&suspects->items[i], job, baseline, transfers);
    }
    strength_release(&strength);
    return failed ? error_no_memory(error) : 0;
}

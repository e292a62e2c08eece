#include "base/array.h"
#include "base/scale.h"
#include "baseline/cells.h"
#include "baseline/place.h"
#include "diagnose/suspect.h"
#include "job/step_index.h"
#include "job/transfers.h"
#include "network/edges.h"

#include <stdlib.h>

/*
 * Ranks whose transfers were slow. First the instances whose transfer stands out against the same place of
 * other steps and of other communicators; then whom that is blamed on, by edges (blame.c) or, without network
 * steps, by who shares slow transfers (cover.c).
 */

/* The transfer of an instance is told once: at the first of its members. */
static int64_t transfer_at(const struct job *job, int32_t cell)
{
    const struct job_instance *instance = &job->instances[job->operations[cell].instance];
    int complete = instance->members == instance->expected;
    return complete && job->instance_members[instance->first_member] == cell ? instance->transfer_ns
                                                                             : TIME_UNKNOWN;
}

static void measure_place(struct job *job, const struct baseline *baseline, int32_t role, int32_t position,
                          struct place *place, double sigmas)
{
    size_t ranks = baseline->roles[role].rank_count, steps = (size_t)baseline->step_count;
    for (size_t rank = 0; rank < ranks; rank++)
        for (int32_t step = 0; step < baseline->step_count; step++) {
            int32_t cell = baseline_cell(baseline, role, position, rank, step);
            size_t at = rank * steps + (size_t)step;
            place->value[at] = cell < 0 ? TIME_UNKNOWN : transfer_at(job, cell);
            place->bytes[at] = cell < 0 ? 0 : job->operations[cell].bytes;
        }
    int64_t sigma = place_measure(place, ranks, baseline->first_step, baseline->step_count);
    for (size_t rank = 0; rank < ranks; rank++)
        for (int32_t step = baseline->first_step; step < baseline->step_count; step++) {
            int64_t excess = place->value[rank * steps + (size_t)step];
            if (excess == TIME_UNKNOWN)
                continue;
            int32_t cell = baseline_cell(baseline, role, position, rank, step);
            struct job_instance *instance = &job->instances[job->operations[cell].instance];
            instance->beyond_ns = excess;
            if ((double)excess > sigmas * (double)sigma)
                instance->slow_ns = excess;
        }
}

static int find_slow(struct job *job, const struct baseline *baseline, double sigmas)
{
    for (size_t i = 0; i < baseline->role_count; i++) {
        struct place place = {0};
        if (place_init(&place, baseline->roles[i].rank_count, (size_t)baseline->step_count)) {
            place_release(&place);
            return -1;
        }
        for (int32_t position = 0; position < baseline->roles[i].length; position++)
            measure_place(job, baseline, (int32_t)i, position, &place, sigmas);
        place_release(&place);
    }
    return 0;
}

/*
 * How long a member was at it; -1 unknown. Where its kernel does not say all, as the leaf of a tree does not,
 * until the next of its stream began.
 */
static int64_t stay_of(const struct job_operation *member, int64_t next_ns)
{
    int64_t end_ns = job_left_ns(member, next_ns);
    if (end_ns == TIME_UNKNOWN)
        end_ns = member->end_ns;
    return member->start_ns == TIME_UNKNOWN || end_ns == TIME_UNKNOWN ? -1 : end_ns - member->start_ns;
}

/*
 * No operation was delayed by more than its longest member lasted, and no receive by more than it lasted
 * itself: before it came, its sender waited for it. INT64_MAX where the trace cannot tell.
 */
static int64_t longest_member(const struct job *job, const struct job_instance *instance,
                              const int64_t *next_starts)
{
    int64_t longest = -1;
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t at = job_member_at(job, instance, i);
        int64_t stay_ns = stay_of(&job->operations[at], next_starts[at]);
        longest = stay_ns > longest ? stay_ns : longest;
    }
    int64_t received_ns = job_received_ns(job, instance);
    return longest < 0 || received_ns < longest ? received_ns : longest;
}

/* Whether nobody called anything after it, for want of a member: that is what its links waited for. */
static int never_ended(const struct job *job, const struct job_instance *instance, const int64_t *next_starts)
{
    for (int32_t i = 0; i < instance->members; i++)
        if (next_starts[job_member_at(job, instance, i)] != TIME_UNKNOWN)
            return 0;
    return instance->members < instance->expected;
}

/*
 * The shortest duration does not show a link that delays only some members, or hardly, and nothing where
 * kernel times are unknown or the link was always slow. Its network steps do. Where the transfer shows half
 * of it, that is no other slowness.
 */
static int find_slow_links(struct job *job, const struct edges *edges)
{
    int64_t *next_starts = job_next_starts(job);
    for (size_t i = 0; next_starts && i < job->instance_count; i++) {
        struct job_instance *instance = &job->instances[i];
        int64_t over = 0, busy = 0;
        for (size_t j = edges->first[i]; j < edges->first[i + 1]; j++)
            if (edges->items[j].over_ns > over) {
                over = edges->items[j].over_ns;
                busy = edges->items[j].busy_ns;
            }
        /* Where nobody was done before the link was, all members show it. */
        int holds_some = instance->transfer_ns < busy;
        if (over <= 0 || (instance->slow_ns && (!holds_some || instance->slow_ns >= over / 2)))
            continue;
        int64_t longest = longest_member(job, instance, next_starts);
        if (longest == INT64_MAX && never_ended(job, instance, next_starts))
            continue;
        over = over < longest ? over : longest;
        if (over <= instance->slow_ns)
            continue;
        instance->some_ns = holds_some ? over - instance->slow_ns : 0;
        instance->slow_ns = over;
        /* Less is also what is not known. */
        if (instance->beyond_ns < over)
            instance->beyond_ns = over;
    }
    int failed = next_starts ? 0 : -1;
    free(next_starts);
    return failed;
}

static void gather(const struct job *job, struct strength *strength)
{
    for (size_t i = 0; i < job->instance_count; i++) {
        const struct job_instance *instance = &job->instances[i];
        if (instance->culprit >= 0 && instance->step >= 0)
            strength
                ->excess_ns[(size_t)instance->culprit * (size_t)strength->steps + (size_t)instance->step] +=
                instance->slow_ns;
    }
}

/*
 * What is usual in single steps: every transfer that took longer than usual, whether it stands out or not;
 * of those with network steps where there are any.
 */
static int take_samples(const struct job *job, const struct edges *edges, struct strength *strength)
{
    strength->samples = array_new(job->instance_count, sizeof *strength->samples);
    for (size_t i = 0; strength->samples && i < job->instance_count; i++) {
        const struct job_instance *instance = &job->instances[i];
        if (instance->step <= strength->first_step || instance->beyond_ns <= 0 ||
            (edges->count && edges->first[i] == edges->first[i + 1]))
            continue;
        strength->samples[strength->sample_count++] =
            (struct sample){instance->beyond_ns, instance->culprit, instance->step};
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
static void widen(const struct suspect *suspect, struct job *job, const struct edges *edges)
{
    struct job_range instances = suspect_instances(suspect, job);
    for (size_t i = instances.first; i < instances.end; i++) {
        int32_t at = job->by_step[i];
        struct job_instance *instance = &job->instances[at];
        if (instance->culprit >= 0 || instance->beyond_ns == TIME_UNKNOWN)
            continue;
        for (size_t j = edges->first[at]; j < edges->first[at + 1]; j++) {
            const struct edge *edge = &edges->items[j];
            int64_t slow_ns = instance->beyond_ns > 0 ? instance->beyond_ns : added_by(edge);
            if ((edge->sender == suspect->rank || edge->receiver == suspect->rank) && edge->extra_ns > 0 &&
                slow_ns > 0) {
                instance->slow_ns = slow_ns;
                instance->some_ns = instance->some_ns < slow_ns ? instance->some_ns : slow_ns;
                instance->culprit = suspect->rank;
            }
        }
    }
}

/*
 * Connections take several steps to get up to speed: what is slow from the start and then no more may be
 * that, unless it lasts longer than a step in each of several.
 */
static int may_be_warm_up(const struct suspect *suspect, const struct baseline *baseline)
{
    int is_pause =
        suspect->first_step < suspect->last_step && suspect->weakest_ns >= baseline->median_step_ns;
    return suspect->after_warm_up && suspect->last_step < baseline->step_count - 1 && !is_pause;
}

/* Whether an operation is the last that its rank has in a step. */
static int ends_step(const struct job *job, const struct baseline *baseline, int32_t operation)
{
    const struct job_operation *last = &job->operations[operation];
    int32_t role = baseline->role_of_rank[last->rank];
    return role >= 0 && last->position == baseline->roles[role].length - 1;
}

/*
 * The length of a step is how long after each other ranks began it and the next. A slow link that held only
 * some of them in the last operation of the step left the others to begin the next, and wait there: it made
 * that one longer. Whether that was more than half of what the suspicion was slow by in its last step.
 */
static int is_slow_at_end(const struct suspect *suspect, const struct job *job,
                          const struct baseline *baseline)
{
    int64_t all_ns = 0, end_ns = 0;
    struct job_range instances = job_instances_in(job, suspect->last_step, suspect->last_step);
    for (size_t i = instances.first; i < instances.end; i++) {
        const struct job_instance *instance = &job->instances[job->by_step[i]];
        if (!suspect_has_instance(suspect, instance))
            continue;
        all_ns += instance->slow_ns;
        if (instance->transfer_ns != TIME_UNKNOWN &&
            ends_step(job, baseline, job->instance_members[instance->first_member]))
            end_ns += instance->some_ns;
    }
    return end_ns * 2 > all_ns && suspect->last_step + 2 < baseline->step_count;
}

int suspect_network(struct suspects *suspects, struct job *job, const struct baseline *baseline,
                    const struct edges *edges, const struct diagnose_options *options, struct error *error)
{
    struct strength strength = {0};
    size_t first = suspects->count;
    int failed = find_slow(job, baseline, options->sigmas) || strength_init(&strength, job, baseline);
    if (!failed && edges->count) {
        failed = find_slow_links(job, edges) || edges_blame(job, edges);
    } else if (!failed) {
        failed = cover_slow_instances(job);
    }
    int64_t least_ns = scale(baseline->median_step_ns, options->min_gain / 2);
    if (!failed)
        gather(job, &strength);
    failed = failed || take_samples(job, edges, &strength) ||
             strength_find(&strength, least_ns > 0 ? least_ns : 1, FINDING_NETWORK, suspects);
    for (size_t i = first; !failed && i < suspects->count; i++) {
        suspects->items[i].ambiguous = may_be_warm_up(&suspects->items[i], baseline);
        widen(&suspects->items[i], job, edges);
        suspects->items[i].shows_later = is_slow_at_end(&suspects->items[i], job, baseline);
    }
    strength_release(&strength);
    return failed ? error_no_memory(error) : 0;
}

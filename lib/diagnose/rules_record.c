/*
 * Measures for the rules about what a recorder does not show: imprecise ends, trees and roots in traces of
 * finished operations only, unrecorded sends and receives, and missing records.
 */
#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "diagnose/finding.h"
#include "diagnose/suspect.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>

/* What a recorder hides that lists only finished operations, without algorithms and network steps. */

/*
 * How long after this member another one ended, by aligned clocks: at least (`sign` -1, less the clock error)
 * or at most (1, plus the clock error). TIME_UNKNOWN where the clocks do not show it.
 */
static int64_t ended_after(const struct job *job, const struct job_operation *member,
                           const struct job_operation *other, int sign)
{
    int64_t mine = job_common_time(job, member, member->end_ns);
    int64_t end = job_common_time(job, other, other->end_ns);
    int64_t doubt = job_clock_uncertainty(job, member->rank, other->rank);
    return mine == TIME_UNKNOWN || end == TIME_UNKNOWN ? TIME_UNKNOWN : end - mine + sign * doubt;
}

/* How long after this member the last member of its operation ended, at least. */
static int64_t others_went_on(const struct job *job, const struct job_operation *member)
{
    const struct job_instance *instance = &job->instances[member->instance];
    int64_t most_ns = 0;
    for (int32_t i = 0; i < instance->members; i++) {
        int64_t after_ns = ended_after(job, member, job_member(job, instance, i), -1);
        if (after_ns != TIME_UNKNOWN && after_ns > most_ns)
            most_ns = after_ns;
    }
    return most_ns;
}

/*
 * How long after this member the last other member ended, at most: of those that share its clock, which shows
 * it exactly, if there are any. TIME_UNKNOWN where no clock shows it.
 */
static int64_t others_may_have_gone_on(const struct job *job, const struct job_operation *member)
{
    const struct job_instance *instance = &job->instances[member->instance];
    int64_t apart_ns = TIME_UNKNOWN, here_ns = TIME_UNKNOWN;
    for (int32_t i = 0; i < instance->members; i++) {
        const struct job_operation *other = job_member(job, instance, i);
        int is_here = job->ranks[other->rank].clock == job->ranks[member->rank].clock;
        int64_t *most_ns = is_here ? &here_ns : &apart_ns;
        int64_t after_ns = other == member ? TIME_UNKNOWN : ended_after(job, member, other, 1);
        if (after_ns != TIME_UNKNOWN && after_ns > *most_ns)
            *most_ns = after_ns;
    }
    return here_ns == TIME_UNKNOWN ? apart_ns : here_ns;
}

/*
 * Whether, by aligned clocks, all members had left an operation `after_ns` after this one did, which may have
 * been the leaf of a tree; 0 where that is not known.
 */
static int all_have_left(const struct job *job, const struct job_operation *member, int64_t after_ns)
{
    const struct job_instance *instance = &job->instances[member->instance];
    if (instance->members < instance->expected)
        return 0;
    for (int32_t i = 0; i < instance->members; i++) {
        const struct job_operation *other = job_member(job, instance, i);
        int64_t most_ns = ended_after(job, member, other, 1);
        if (most_ns == TIME_UNKNOWN || (other != member && most_ns > after_ns))
            return 0;
    }
    return 1;
}

/*
 * Whether the operation before may have been a tree with the rank as a leaf, which records its stop early.
 * The same rank is the leaf in every step. So for a rank that is late in every step (`is_steady`), the clocks
 * must show that it was not the leaf; otherwise its other steps show that.
 */
static int may_be_leaf(const struct job *job, const struct baseline *baseline,
                       const struct job_operation *operation, int is_steady)
{
    if (operation->previous < 0 || job->operations[operation->previous].function != FUNCTION_ALL_REDUCE)
        return 0;
    const struct job_operation *previous = &job->operations[operation->previous];
    int64_t after_ns = is_steady ? others_may_have_gone_on(job, previous) : others_went_on(job, previous);
    return after_ns == TIME_UNKNOWN || after_ns >= excess_of(baseline, job, operation).excess_ns / 2;
}

static double measure_leaf(const struct suspect *suspect, const struct job *job,
                           const struct baseline *baseline)
{
    int64_t held_ns = 0;
    struct job_range range = suspect_operations(suspect, job);
    for (size_t i = range.first; i < range.end; i++)
        if (suspect_has_operation(suspect, &job->operations[i], excess_ns_at(&baseline->excess, i)) &&
            may_be_leaf(job, baseline, &job->operations[i], suspect_is_steady(suspect, baseline)))
            held_ns += excess_ns_at(&baseline->excess, i);
    return ratio_of(held_ns, suspect->total_ns);
}

/*
 * The share of its lateness that comes after operations with a root. A rank can finish these before the
 * others and is idle then. Only where no rank is known to have waited for it (at most a twentieth); NOT_ASKED
 * otherwise.
 */
static double measure_behind_root(const struct suspect *suspect, const struct job *job,
                                  const struct baseline *baseline)
{
    int64_t after_ns = 0;
    if (ratio_of(suspect->margin_ns, suspect->total_ns) >= limit_of(LIMIT_WAITED))
        return NOT_ASKED;
    struct job_range range = suspect_operations(suspect, job);
    for (size_t i = range.first; i < range.end; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (!suspect_has_operation(suspect, operation, excess_ns_at(&baseline->excess, i)) ||
            operation->previous < 0)
            continue;
        enum function before = job->operations[operation->previous].function;
        if (function_is_full_exchange(operation->function) && !function_is_full_exchange(before) &&
            !function_is_point_to_point(before))
            after_ns += excess_ns_at(&baseline->excess, i);
    }
    return ratio_of(after_ns, suspect->total_ns);
}

void suspects_check_unrecorded(struct suspects *suspects, const struct job *job,
                               const struct baseline *baseline)
{
    for (size_t i = 0; job->finished_only && i < suspects->count; i++) {
        struct suspect *suspect = &suspects->items[i];
        if (suspect->kind == FINDING_NETWORK)
            continue;
        suspect_ask(suspect, RULE_LEAF_OF_TREE, measure_leaf(suspect, job, baseline));
        suspect_ask(suspect, RULE_BEHIND_ROOT, measure_behind_root(suspect, job, baseline));
    }
}

/* What a recorder hides that leaves out sends and receives. */

/* At most this many operations of a step are examined, whatever the trace contains. */
enum { MOST_LOOKED_AT = 4096 };

/* The baseline of own time: own time without its excess, where that is known. */
static int64_t usual_own_ns(const struct job_operation *operation, const struct excess excess)
{
    return operation->own_ns - (excess.beyond_ns == TIME_UNKNOWN ? 0 : excess.beyond_ns);
}

/*
 * The least baseline own time of the rank before other operations of the same kind in the same step; -1:
 * none. An operation at the same position is not another one: it means that the record between two steps is
 * lost, so that they look like one.
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
        int64_t usual_ns = usual_own_ns(other, excess_list_get(&baseline->excess, i));
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

/* By step: the rank that was late by itself the most, and the amount of the next one. */
static struct top_two *find_latest(const struct job *job, const struct baseline *baseline)
{
    struct top_two *latest = array_new((size_t)job->step_count + 1, sizeof *latest);
    for (int32_t step = 0; latest && step < job->step_count; step++) {
        latest[step] = (struct top_two){.rank = -1};
        for (size_t rank = 0; rank < job->rank_count; rank++)
            top_two_add(&latest[step], (int32_t)rank, excess_in_step(job, baseline, (int32_t)rank, step));
    }
    return latest;
}

/* The share of its steps in which another rank was late by itself, too, by at least half as much. */
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

int suspects_check_exchanges(struct suspects *suspects, const struct job *job,
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

/*
 * Whether a rank of another stage was late in the same steps by what may be receives: those of the slow
 * sends.
 */
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

/* One or two steps may be a passing moment; whatever was slow then shows in the rank that was late. */
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

/*
 * Own time that may be something else because the end of the operation before is imprecise or not recorded.
 */

/*
 * Whether its host was late after an operation of all ranks ended the step: nothing that it could wait for
 * was left.
 */
static int is_late_after_all(const struct job *job, const struct baseline *baseline,
                             const struct job_operation *operation)
{
    if (operation->previous < 0 || !is_late_by_host(job, baseline, operation))
        return 0;
    const struct job_operation *previous = &job->operations[operation->previous];
    return job->communicators[previous->communicator].size >= (int64_t)job->rank_count &&
           function_is_full_exchange(previous->function) &&
           all_have_left(job, previous, excess_of(baseline, job, operation).excess_ns / 2);
}

int is_hidden_pair(const struct job *job, const struct baseline *baseline,
                   const struct job_operation *operation)
{
    return job_lacks_stage_p2p(job) && !is_late_within(job, baseline, operation) &&
           !is_late_after_all(job, baseline, operation) && may_hide_pair(job, baseline, operation);
}

/*
 * Whether the own time before an operation may contain something else: it follows a send, whose end the proxy
 * or the host records imprecisely, or a receive whose end only the host recorded.
 */
static int may_hide(const struct job *job, const struct baseline *baseline,
                    const struct job_operation *operation)
{
    if (operation->previous < 0)
        return 0;
    const struct job_operation *previous = &job->operations[operation->previous];
    if (is_late_within(job, baseline, operation))
        return 0;
    return (previous->function == FUNCTION_SEND && previous->ends != ENDS_BY_KERNEL) ||
           (previous->function == FUNCTION_RECV && previous->ends == ENDS_BY_HOST);
}

/*
 * Sends and receives of one group call share a kernel that ends with the last of them. If only the host
 * recorded the end of some, the next operation may have waited for any of them.
 */
static int has_open_end(const struct job *job, int32_t previous)
{
    if (previous < 0 || !job->finished_only || !job_is_grouped(job, previous))
        return 0;
    size_t at = (size_t)job->operations[previous].group;
    for (; at < job->operation_count && job->operations[at].group == job->operations[previous].group; at++)
        if (job->operations[at].ends == ENDS_BY_HOST)
            return 1;
    return 0;
}

/* The part of a suspect's excess that may be something else. */
struct doubt {
    int64_t known_ns;       /* excess with known own time */
    int64_t ends_ns;        /* the part that may be the imprecise end of a send or receive */
    int64_t pairs_ns;       /* the part that may be a receive that the recorder leaves out */
    int64_t groups_ns;      /* the part that may be the group call of the operation before */
    int32_t clear_of_pairs; /* steps with enough excess that is no unrecorded receive */
    int32_t clear_steps;    /* steps with enough excess that is neither that nor an imprecise end */
};

/* The excess of one step that is certain. */
struct clear {
    int32_t step;
    int64_t of_pairs_ns;
    int64_t of_both_ns;
};

static void close_step(struct doubt *doubt, const struct clear *clear, int64_t least_ns)
{
    doubt->clear_of_pairs += clear->of_pairs_ns >= least_ns;
    doubt->clear_steps += clear->of_both_ns >= least_ns;
}

static struct doubt doubt_of(const struct suspect *suspect, const struct job *job,
                             const struct baseline *baseline, int64_t least_ns)
{
    struct doubt doubt = {0};
    struct clear clear = {.step = suspect->first_step};
    struct job_range range = suspect_operations(suspect, job);
    for (size_t i = range.first; i < range.end; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (!suspect_has_operation(suspect, operation, excess_ns_at(&baseline->excess, i)))
            continue;
        if (operation->step != clear.step) {
            close_step(&doubt, &clear, least_ns);
            clear = (struct clear){.step = operation->step};
        }
        int within = is_late_within(job, baseline, operation);
        int may_be_end = may_hide(job, baseline, operation),
            may_be_pair = !may_be_end && is_hidden_pair(job, baseline, operation);
        if (operation->own_ns != TIME_UNKNOWN)
            doubt.known_ns += excess_ns_at(&baseline->excess, i);
        if (may_be_end)
            doubt.ends_ns += excess_ns_at(&baseline->excess, i);
        if (may_be_pair)
            doubt.pairs_ns += excess_ns_at(&baseline->excess, i);
        else
            clear.of_pairs_ns += excess_ns_at(&baseline->excess, i);
        if (!may_be_end && !may_be_pair)
            clear.of_both_ns += excess_ns_at(&baseline->excess, i);
        if (has_open_end(job, operation->previous) && !within)
            doubt.groups_ns += excess_ns_at(&baseline->excess, i);
    }
    close_step(&doubt, &clear, least_ns);
    return doubt;
}

/*
 * Whether the certain part of a suspect's excess is sufficient: at least `least_ns` per step, at least a
 * quarter of all (a smaller part may come along with the uncertain part), and present in at least half of the
 * steps.
 */
static int would_do(const struct suspect *suspect, int64_t doubtful_ns, int32_t clear_steps, int64_t least_ns)
{
    int32_t steps = suspect_steps(suspect);
    int64_t rest_ns = suspect->total_ns - doubtful_ns;
    return steps >= 2 && rest_ns >= steps * least_ns &&
           (double)rest_ns >= limit_of(LIMIT_REST) * (double)suspect->total_ns && clear_steps * 2 >= steps;
}

/*
 * If only the end of sends is uncertain, several steps in a row still support a suspect, so the measure is
 * the uncertain share of everything else, unless the certain part is sufficient.
 */
static double measure_rough_end(const struct suspect *suspect, const struct job *job,
                                const struct doubt *doubt, int64_t least_ns)
{
    int is_alone = suspect->first_step == suspect->last_step;
    int64_t doubtful_ns = doubt->ends_ns + doubt->pairs_ns;
    if ((!job->blind_to_pairs && !is_alone) || would_do(suspect, doubtful_ns, doubt->clear_steps, least_ns))
        return NOT_ASKED;
    return ratio_of(doubtful_ns, doubt->known_ns);
}

/* Whether most of it may be receives that the recorder leaves out. */
static int may_be_pairs(const struct suspect *suspect, const struct doubt *doubt, int64_t least_ns)
{
    return doubt->pairs_ns * 2 > doubt->known_ns &&
           !would_do(suspect, doubt->pairs_ns, doubt->clear_of_pairs, least_ns);
}

void suspect_doubt_own(struct suspect *suspect, const struct job *job, const struct baseline *baseline,
                       int64_t least_ns)
{
    struct doubt doubt = doubt_of(suspect, job, baseline, least_ns);
    suspect->hides_pairs = may_be_pairs(suspect, &doubt, least_ns);
    suspect_ask(suspect, RULE_ROUGH_END, measure_rough_end(suspect, job, &doubt, least_ns));
    suspect_ask(suspect, RULE_GROUP_END,
                job->finished_only ? ratio_of(doubt.groups_ns, suspect->total_ns) : NOT_ASKED);
    suspect_ask(suspect, RULE_AFTER_WARM_UP, suspect->last_step - baseline->first_step);
}

double job_gaps(const struct job *job)
{
    return ratio_of(job->missing_sequence - job->left_out_by_all, (int64_t)job->operation_count);
}

int job_has_gaps(const struct job *job)
{
    return job->damaged_lines || job->lost_events || job_gaps(job) > limit_of(LIMIT_GAPS);
}

int job_may_lack_operations(const struct job *job)
{
    return job_has_gaps(job) || job_lacks_stage_p2p(job);
}

/*
 * The number of ranks in its role. With records missing, the missing records may be what makes the role; and
 * in a suspect of more than half of the steps the rank may instead have been early in the other steps.
 */
static double measure_role(const struct suspect *suspect, const struct job *job,
                           const struct baseline *baseline)
{
    int32_t role = baseline->role_of_rank[suspect->rank];
    int matters =
        job_has_gaps(job) || job->blind_to_pairs || suspect_extent(suspect, baseline) > limit_of(LIMIT_HALF);
    return matters && role >= 0 ? (double)baseline->roles[role].rank_count : NOT_ASKED;
}

void suspect_ask_coverage(struct suspect *suspect, const struct job *job, const struct baseline *baseline)
{
    double extent = suspect_extent(suspect, baseline);
    suspect_ask(suspect, RULE_ALONE_IN_ROLE, measure_role(suspect, job, baseline));
    suspect_ask(suspect, RULE_IRREGULAR, baseline->regular);
    suspect_ask(suspect, RULE_STEADY, extent);
    suspect_ask(suspect, RULE_ESTIMATED_STEADY, suspect->on_estimates ? extent : NOT_ASKED);
    suspect_ask(suspect, RULE_ESTIMATED, suspect->on_estimates);
    suspect_ask(suspect, RULE_DAMAGED_LINES, (double)job->damaged_lines);
    suspect_ask(suspect, RULE_LOST_EVENTS, (double)job->lost_events);
    suspect_ask(suspect, RULE_GAPS, job_gaps(job));
}

void finding_ask_record(const struct findings *findings, struct finding *finding, const struct job *job,
                        const struct baseline *baseline)
{
    finding_ask(findings, finding, RULE_IRREGULAR, baseline->regular);
    finding_ask(findings, finding, RULE_DAMAGED_LINES, (double)job->damaged_lines);
    finding_ask(findings, finding, RULE_LOST_EVENTS, (double)job->lost_events);
    finding_ask(findings, finding, RULE_GAPS, job_gaps(job));
}

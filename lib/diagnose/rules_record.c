#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "diagnose/finding.h"
#include "diagnose/suspect.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>

/* What a recorder hides that lists finished operations only, without algorithms and network steps. */

/*
 * How long after this member another one ended, by the clocks: at least, less what they may be off (`sign`
 * -1), or at most (1). TIME_UNKNOWN where they do not tell.
 */
static int64_t ended_after(const struct job *job, const struct job_operation *member,
                           const struct job_operation *other, int sign)
{
    int64_t mine = job_common_time(job, member, member->end_ns);
    int64_t end = job_common_time(job, other, other->end_ns);
    int64_t doubt = job_clock_doubt(job, member->rank, other->rank);
    return mine == TIME_UNKNOWN || end == TIME_UNKNOWN ? TIME_UNKNOWN : end - mine + sign * doubt;
}

/* How long after this member the last one of its operation ended, at least. */
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
 * Whether by the clocks all members of an operation had left it by `after_ns` after this one did, which may
 * have been the leaf of a tree; 0 where that is not known.
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

/* Whether the operation before may have been a tree, of which the rank was a leaf: it noted its stop early.
 */
static int may_be_leaf(const struct job *job, const struct baseline *baseline,
                       const struct job_operation *operation)
{
    if (operation->previous < 0 || job->operations[operation->previous].function != FUNCTION_ALL_REDUCE)
        return 0;
    return others_went_on(job, &job->operations[operation->previous]) >=
           excess_of(baseline, job, operation).excess_ns / 2;
}

static double measure_leaf(const struct suspect *suspect, const struct job *job,
                           const struct baseline *baseline)
{
    int64_t held_ns = 0;
    struct job_range range = suspect_operations(suspect, job);
    for (size_t i = range.first; i < range.end; i++)
        if (suspect_has_operation(suspect, &job->operations[i], excess_ns_at(&baseline->excess, i)) &&
            may_be_leaf(job, baseline, &job->operations[i]))
            held_ns += excess_ns_at(&baseline->excess, i);
    return ratio_of(held_ns, suspect->total_ns);
}

/*
 * Where nobody waited for it (a twentieth at most) where that can be read, how much of what it was late by
 * comes after operations with a root: that ends them before the others do, and is idle then.
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
            top_two_add(&latest[step], (int32_t)rank, excess_in_step(job, baseline, (int32_t)rank, step));
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

/* Own time that may be something else: the end of what came before is told roughly, or not at all. */

/* Whether its host was late after an operation of all ranks ended the step: what it waits for then is over.
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
 * Own time that may hide something else: after a send, whose end its proxy or the host tells only roughly, or
 * a receive of which only the host does.
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
 * Of sends and receives called as one the kernel ends with the last, whichever that is: where the host alone
 * says when some of them ended, what comes after may have waited for any.
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

/* Of a suspicion, what may be something else. */
struct doubt {
    int64_t known_ns;       /* whose own time is known */
    int64_t ends_ns;        /* that may be the rough end of a send or a receive */
    int64_t pairs_ns;       /* that may be a receive which the recorder leaves out (rules_record.c) */
    int64_t groups_ns;      /* that may be what was called as one with the operation before */
    int32_t clear_of_pairs; /* steps in which enough is none that the recorder leaves out */
    int32_t clear_steps;    /* nor a rough end */
};

/* What is none of either, in one step. */
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
 * Whether what is not doubtful of a suspicion would do: it is enough by itself (`least_ns` a step), no less
 * than a quarter, which may come along with the doubtful part, and there in half of the steps at least.
 */
static int would_do(const struct suspect *suspect, int64_t doubtful_ns, int32_t clear_steps, int64_t least_ns)
{
    int32_t steps = suspect_steps(suspect);
    int64_t rest_ns = suspect->total_ns - doubtful_ns;
    return steps >= 2 && rest_ns >= steps * least_ns &&
           (double)rest_ns >= limit_of(LIMIT_REST) * (double)suspect->total_ns && clear_steps * 2 >= steps;
}

/*
 * Where only the end of sends is doubtful, several steps in a row speak for a suspicion all the same: of all
 * else the share that is doubtful is read, unless the rest would do.
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
 * How many ranks play its role: with records missing, that may be what makes the role; and in more steps than
 * not it may as well have been early in the others.
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
    /* Such a recorder does not tell trees from rings: the root of a tree always ends after the others. */
    suspect_ask(suspect, RULE_ROOT_OF_TREE, job->finished_only ? extent : NOT_ASKED);
    suspect_ask(suspect, RULE_ESTIMATED_STEADY, suspect->on_estimates ? extent : NOT_ASKED);
    suspect_ask(suspect, RULE_ESTIMATED, suspect->on_estimates);
    suspect_ask(suspect, RULE_DAMAGED_LINES, (double)job->damaged_lines);
    suspect_ask(suspect, RULE_LOST_EVENTS, (double)job->lost_events);
    suspect_ask(suspect, RULE_GAPS, job_gaps(job));
}

/*
 * Turns groups whose transfers were slow (slow_groups.c) into network findings: measures what removing the
 * slowness gains in the replay, and applies the rules. Such a finding names the ranks that may be at fault,
 * or the host whose groups are all slow.
 */
#include "base/base.h"
#include "diagnose/delay.h"
#include "diagnose/diagnose.h"
#include "diagnose/finding.h"
#include "diagnose/network.h"
#include "diagnose/score.h"
#include "diagnose/suspect.h"
#include "job/job.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>

/* More at once than this cannot be told apart, and each takes two replays. */
enum { MOST_GROUPS = 12 };

/* The state while slow groups are turned into findings. */
struct explaining_groups {
    struct findings *findings;
    const struct suspects *suspects;
    const struct job *job;
    const struct baseline *baseline;
    struct transfer_excess *transfers;
    const struct diagnose_options *options;
    struct transfer_groups groups;
    struct replay *replay;
    int64_t *cuts; /* owned: by how much shorter each instance would be without the slowness */
    int64_t *list; /* owned: scratch, room for all ranks */
};

/* The measurements of slow groups. */
struct group_measures {
    struct slowness slowness;
    struct lengthening lengthening;
    int64_t gain_ns;
    int64_t own_ns; /* by how much its ranks computed longer than their peers, in the same steps */
    int32_t tag;    /* the phase with most of the slowness; -1: none */
};

/* Fills in by how much shorter the instances would be. -1 when memory runs out. */
static int find_cuts(struct explaining_groups *it, const struct slow_groups *found,
                     struct group_measures *measures)
{
    const struct job *job = it->job;
    struct slowness *slowness = &measures->slowness;
    int64_t *by_tag = array_new(job->tags.count + 1, sizeof *by_tag);
    for (size_t i = 0; by_tag && i < job->instance_count; i++) {
        double excess = slow_groups_excess(&it->groups, found, i);
        it->cuts[i] = excess > 0 ? scale(job->instances[i].transfer_ns, 1 - exp(-excess)) : 0;
        if (it->cuts[i] <= 0)
            continue;
        slowness->operations++;
        slowness->transfer_ns += job->instances[i].transfer_ns;
        slowness->slow_ns += it->cuts[i];
        by_tag[job->instances[i].tag + 1] += it->cuts[i];
    }
    if (by_tag)
        measures->tag = greatest_above_zero(by_tag, job->tags.count + 1) - 1;
    measures->tag = measures->tag < -1 ? -1 : measures->tag;
    free(by_tag);
    return by_tag ? 0 : -1;
}

/* Own time of an operation minus the median of the ranks in its role that are no candidates; 0: not known. */
static int64_t beyond_peers(const struct explaining_groups *it, const struct slow_groups *found, size_t at)
{
    const struct baseline *baseline = it->baseline;
    const struct job_operation *operation = &it->job->operations[at];
    int32_t role = baseline->role_of_rank[operation->rank];
    size_t count = 0;
    if (role < 0 || baseline->positions[at] < 0 || operation->own_ns == TIME_UNKNOWN)
        return 0;
    for (size_t i = 0; i < baseline->roles[role].rank_count; i++) {
        int32_t cell = baseline_cell(baseline, role, baseline->positions[at], i, operation->step);
        if (cell >= 0 && !found->may[baseline->roles[role].ranks[i]] &&
            it->job->operations[cell].own_ns != TIME_UNKNOWN)
            it->list[count++] = it->job->operations[cell].own_ns;
    }
    return count ? operation->own_ns - median_of(it->list, count) : 0;
}

/*
 * How much longer the slowest candidate computed than its peers, where that is the only evidence of a
 * contended GPU, which transfers slowly, too: in all steps. For some steps, the rank's own past shows it, and
 * there is a finding.
 */
static int64_t longest_own_ns(const struct explaining_groups *it, const struct slow_groups *found)
{
    int64_t most_ns = 0;
    for (int32_t rank = 0; found->is_steady && rank < (int32_t)it->job->rank_count; rank++) {
        struct job_range range = job_operations_in(it->job, rank, found->steps.first, found->steps.last);
        int64_t own_ns = 0;
        for (size_t i = range.first; found->may[rank] && i < range.end; i++)
            own_ns += beyond_peers(it, found, i);
        most_ns = own_ns > most_ns ? own_ns : most_ns;
    }
    return most_ns;
}

static int32_t first_rank(const struct slow_groups *found)
{
    int32_t rank = 0;
    while (!found->may[rank])
        rank++;
    return rank;
}

/* A suspect that stands for them, for the rules that are written for suspects. */
static struct suspect suspect_of(const struct slow_groups *found, const struct group_measures *measures)
{
    return (struct suspect){.kind = FINDING_NETWORK,
                            .rank = first_rank(found),
                            .first_step = found->steps.first,
                            .last_step = found->steps.last,
                            .total_ns = measures->slowness.slow_ns,
                            .gain_ns = measures->gain_ns};
}

/* -1 when memory runs out. */
static int measure(struct explaining_groups *it, const struct slow_groups *found,
                   struct group_measures *measures)
{
    *measures = (struct group_measures){.slowness = {.is_against_groups = found->is_steady},
                                        .lengthening = {.most_ns = INT64_MAX}};
    if (find_cuts(it, found, measures))
        return -1;
    measures->gain_ns = replay_gain_of_cuts(it->replay, it->cuts);
    measures->own_ns = longest_own_ns(it, found);
    struct suspect suspect = suspect_of(found, measures);
    return found->steps.period == 1 && !found->is_steady
               ? suspect_measure_steps(it->suspects, &suspect, it->job, it->baseline, &measures->lengthening)
               : 0;
}

static void ask(const struct explaining_groups *it, const struct slow_groups *found,
                const struct group_measures *measures, struct finding *finding)
{
    const struct findings *findings = it->findings;
    struct suspect suspect = suspect_of(found, measures);
    double worth = ratio_of(finding->lost_ns, it->baseline->median_step_ns) / step_set_count(&found->steps);
    worth = it->options->min_gain > 0 ? worth / it->options->min_gain : worth > 0 ? 2 : 0;
    finding->confidence = CONFIDENCE_HIGH;
    finding_ask(findings, finding, RULE_CERTAINTY_SENDERS,
                found->certainty - log(job_selection_ratio(it->job)));
    finding_ask(findings, finding, RULE_ONE_OF_SEVERAL, (double)(found->is_unit ? 1 : found->count));
    finding_ask(findings, finding, RULE_STEADY, found->is_steady ? 1 : NOT_ASKED);
    finding_ask_record(findings, finding, it->job, it->baseline);
    finding_ask(findings, finding, RULE_WORTH, worth);
    finding_ask(findings, finding, RULE_WORTH_SURE, worth);
    suspect_ask_steps(&suspect, &measures->lengthening);
    for (int rule = 0; rule < RULE_COUNT; rule++)
        if (suspect.rule_results.asked[rule])
            finding_ask(findings, finding, (enum rule_id)rule, suspect.rule_results.values[rule]);
}

/* The ranks of a unit are at fault together; of others, one may be. */
static int add_ranks(struct finding *finding, const struct slow_groups *found, size_t ranks)
{
    if (found->is_unit)
        return finding_take_ranks(finding, found->may, ranks);
    for (int32_t rank = 0; found->count > 1 && rank < (int32_t)ranks; rank++)
        if (found->may[rank] && finding_add_candidate(finding, rank))
            return -1;
    return 0;
}

/* Appends ". They are the operations of ranks 4-7 and of 2 other groups". */
static int append_groups(const struct explaining_groups *it, const struct slow_groups *found,
                         struct buffer *text)
{
    const struct job *job = it->job;
    const struct job_instance *instance = &job->instances[it->groups.items[found->group].instance];
    size_t others = 0;
    for (size_t group = 0; group < it->groups.count; group++)
        others += group != found->group && found->has[group];
    if (buffer_append_text(text, ". They are the operations "))
        return -1;
    if (instance->function == FUNCTION_SEND
            ? buffer_printf(text, "from rank %s to rank %s", job->ranks[instance->sender].name,
                            job->ranks[instance->receiver].name)
            : buffer_append_text(text, "of ") ||
                  text_communicator(text, &job->communicators[instance->communicator]))
        return -1;
    return others ? buffer_printf(text, " and of %zu other group%s of ranks", others, others == 1 ? "" : "s")
                  : 0;
}

static int fill(const struct explaining_groups *it, const struct slow_groups *found,
                struct group_measures *measures, struct finding *finding)
{
    int64_t most_ns = measures->lengthening.most_ns;
    finding->kind = FINDING_NETWORK;
    finding->rank = first_rank(found);
    finding->tag = measures->tag;
    finding->first_step = found->steps.first;
    finding->last_step = found->steps.last;
    finding->period = found->steps.period;
    finding->numbers = found->steps.numbers;
    finding->certainty = found->certainty;
    finding->lost_ns = measures->gain_ns < most_ns ? measures->gain_ns : most_ns;
    finding->lost_ns = finding->lost_ns > 0 ? finding->lost_ns : 0;
    finding->slow_ns = measures->slowness.slow_ns;
    measures->slowness.worse = &measures->slowness.sent;
    return add_ranks(finding, found, it->job->rank_count) || slowness_append(&measures->slowness, finding) ||
           append_groups(it, found, &finding->evidence);
}

/* Whether a finding has one of the ranks, in most of the steps. */
static int is_of(const struct finding *finding, const struct slow_groups *found, size_t ranks)
{
    int32_t shared = 0, has = 0;
    for (int32_t rank = 0; rank < (int32_t)ranks; rank++)
        has |= found->may[rank] && finding_has_rank(finding, rank);
    for (int32_t step = found->steps.first; has && step <= found->steps.last; step++)
        shared += step_set_has(&found->steps, step) && finding_has_step(finding, step);
    return shared * 2 > step_set_count(&found->steps);
}

/*
 * Whether another finding explains the slowness: one of at least medium confidence, or a late rank that costs
 * half as much, because a contended GPU transfers slowly, too.
 */
static int is_told(const struct findings *findings, const struct slow_groups *found, size_t ranks,
                   int64_t gain_ns)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        if (is_of(finding, found, ranks) &&
            (finding->confidence > CONFIDENCE_LOW ||
             (finding->kind < FINDING_NETWORK && finding->lost_ns * 2 >= gain_ns)))
            return 1;
    }
    return 0;
}

/* -1 when memory runs out. */
static int take(struct explaining_groups *it, const struct slow_groups *found)
{
    struct group_measures measures;
    if (!found->count)
        return 0;
    if (measure(it, found, &measures))
        return -1;
    if (measures.own_ns * 2 >= measures.slowness.slow_ns ||
        is_told(it->findings, found, it->job->rank_count, measures.gain_ns))
        return 0;
    struct finding *finding = findings_add(it->findings);
    if (!finding || fill(it, found, &measures, finding))
        return -1;
    ask(it, found, &measures, finding);
    if (finding->confidence == CONFIDENCE_LOW) {
        findings_remove(it->findings, it->findings->count - 1);
        return 0;
    }
    transfers_note_culprit(it->transfers, it->cuts, it->job->instance_count, finding->rank);
    return 0;
}

/* Returns 1 if there are slow groups that are left, with their ranks, 0 if not, -1 when memory runs out. */
static int find_next(struct explaining_groups *it, struct slow_groups *found)
{
    const struct sender_limits least = {limit_of(LIMIT_CERTAINTY), limit_of(LIMIT_SLOWER_OPERATIONS)};
    int are_there = slow_groups_next(&it->groups, &least, found);
    if (are_there <= 0)
        return are_there;
    if (slow_groups_find_ranks(&it->groups, found, least.certainty))
        return -1;
    slow_groups_settle(&it->groups, found);
    return 1;
}

static int take_all(struct explaining_groups *it)
{
    struct slow_groups found = {.has = array_new(it->groups.count + 1, sizeof *found.has),
                                .scores = array_new(it->groups.count + 1, sizeof *found.scores),
                                .may = array_new(it->job->rank_count + 1, sizeof *found.may)};
    int are_there = 0, failed = !found.has || !found.scores || !found.may;
    for (int i = 0; !failed && i < MOST_GROUPS && (are_there = find_next(it, &found)) > 0; i++)
        failed = take(it, &found);
    free(found.has);
    free(found.may);
    free(found.scores);
    return failed || are_there < 0 ? -1 : 0;
}

int findings_take_groups(struct findings *findings, const struct suspects *suspects, const struct job *job,
                         const struct baseline *baseline, const struct edges *edges,
                         struct transfer_excess *transfers, struct replay *replay,
                         const struct diagnose_options *options, struct error *error)
{
    struct explaining_groups it = {.findings = findings,
                                   .suspects = suspects,
                                   .job = job,
                                   .baseline = baseline,
                                   .transfers = transfers,
                                   .options = options,
                                   .replay = replay,
                                   .cuts = array_new(job->instance_count + 1, sizeof *it.cuts),
                                   .list = array_new(job->rank_count + 1, sizeof *it.list)};
    int failed = !it.cuts || !it.list;
    if (!failed && replay && baseline->median_step_ns)
        failed = transfer_groups_init(&it.groups, job, baseline->first_step, edges) || take_all(&it);
    transfer_groups_release(&it.groups);
    free(it.cuts);
    free(it.list);
    return failed ? error_no_memory(error) : 0;
}

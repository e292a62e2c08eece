/*
 * Turns groups of slow senders (slow_senders.c) into network findings, such as all ranks behind one network
 * card: measures what removing their slowness gains in the replay, applies the rules, and replaces the single
 * findings that a group covers.
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

/* More groups at once than this cannot be told apart, and each takes two replays. */
enum { MOST_GROUPS = 12 };

/* The state while slow senders are turned into findings. */
struct explained_network_explaining {
    struct findings *findings;
    const struct suspects *suspects;
    const struct job *job;
    const struct baseline *baseline;
    const struct edges *edges;
    struct transfer_excess *transfers;
    const struct diagnose_options *options;
    struct sender_search search;
    struct replay *replay;
    int64_t *cuts; /* by how much shorter each instance would be without the slow senders */
};

/* The measurements of a group of slow senders. */
struct measured {
    struct slowness slowness;
    int64_t gain_ns;
    int64_t weakest_ns; /* by how much shorter the instances would be in the step that gains least */
    int64_t late_ns;    /* the part of the slowness in sends to ranks that were late themselves, or from ranks
                           whose proxy threads were */
    int32_t tag;        /* the phase with most of it; -1: none */
    struct lengthening lengthening;
};

static int was_late(const struct findings *findings, int32_t rank, int32_t step)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        if (finding->kind < FINDING_NETWORK && finding->confidence > CONFIDENCE_LOW &&
            finding_has_step(finding, step) && finding_has_rank(finding, rank))
            return 1;
    }
    return 0;
}

static int had_late_threads(const struct findings *findings, int32_t rank, int32_t step)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].notice_ns && finding_has_step(&findings->items[i], step) &&
            finding_has_rank(&findings->items[i], rank))
            return 1;
    return 0;
}

/* Adds the figures of a slow link. Returns by how much less it would have been busy without the slowness. */
static int64_t count_edge(const struct explained_network_explaining *it, const struct edge *edge,
                          double excess, struct measured *measured)
{
    struct edge_sum *sent = &measured->slowness.sent;
    double part = 1 - exp(-excess);
    int64_t cut_ns = scale(edge->busy_ns, part);
    measured->slowness.slow_ns += cut_ns;
    if (was_late(it->findings, edge->receiver, edge->step) ||
        had_late_threads(it->findings, edge->sender, edge->step))
        measured->late_ns += cut_ns;
    sent->steps += edge->steps;
    sent->wait_ns += edge->wait_ns;
    sent->extra_ns += scale(edge->wait_ns, part);
    if (edge->wait_max_ns > sent->longest_ns)
        sent->longest_ns = edge->wait_max_ns;
    return cut_ns;
}

/*
 * How much shorter an instance would be if these links were as fast as the others. An instance ends when its
 * last link does.
 */
static int64_t cut_of(const struct explained_network_explaining *it, const struct slow_senders *found,
                      size_t instance, struct measured *measured)
{
    int64_t with_ns = 0, without_ns = 0, transfer_ns = it->job->instances[instance].transfer_ns;
    for (size_t i = it->edges->first[instance]; i < it->edges->first[instance + 1]; i++) {
        const struct edge *edge = &it->edges->items[i];
        int64_t busy_ns = edge->busy_ns;
        double excess = slow_senders_excess(&it->search, found, edge->sender, edge->step);
        if (excess > 0)
            busy_ns -= count_edge(it, edge, excess, measured);
        with_ns = edge->busy_ns > with_ns ? edge->busy_ns : with_ns;
        without_ns = busy_ns > without_ns ? busy_ns : without_ns;
    }
    if (transfer_ns == TIME_UNKNOWN)
        return 0;
    return with_ns - without_ns < transfer_ns ? with_ns - without_ns : transfer_ns;
}

/* Finds the phase that they slowed down most, and their weakest step. */
static void find_most(const struct explained_network_explaining *it, const struct slow_senders *found,
                      const int64_t *by_tag, const int64_t *by_step, struct measured *measured)
{
    int64_t most_ns = 0;
    measured->tag = -1;
    for (size_t tag = 0; tag <= it->job->tags.count; tag++)
        if (by_tag[tag] > most_ns) {
            most_ns = by_tag[tag];
            measured->tag = (int32_t)tag - 1;
        }
    measured->weakest_ns = INT64_MAX;
    for (int32_t step = found->steps.first; step <= found->steps.last; step++)
        if (step_set_has(&found->steps, step) && by_step[step] < measured->weakest_ns)
            measured->weakest_ns = by_step[step];
}

/* Fills in the instances that they slowed down. -1 when memory runs out. */
static int find_cuts(struct explained_network_explaining *it, const struct slow_senders *found,
                     struct measured *measured)
{
    const struct job *job = it->job;
    struct slowness *slowness = &measured->slowness;
    int64_t *by_tag = array_new(job->tags.count + 1, sizeof *by_tag);
    int64_t *by_step = array_new((size_t)job->step_count + 1, sizeof *by_step);
    int failed = !by_tag || !by_step;
    for (size_t i = 0; !failed && i < job->instance_count; i++) {
        it->cuts[i] = cut_of(it, found, i, measured);
        if (it->cuts[i] <= 0)
            continue;
        slowness->operations++;
        slowness->transfer_ns += job->instances[i].transfer_ns;
        by_tag[job->instances[i].tag + 1] += it->cuts[i];
        by_step[job->instances[i].step] += it->cuts[i];
    }
    if (!failed)
        find_most(it, found, by_tag, by_step, measured);
    free(by_tag);
    free(by_step);
    return failed ? -1 : 0;
}

/* A suspect that stands for them, for the rules that are written for suspects. */
static struct suspect suspect_of(const struct explained_network_explaining *it,
                                 const struct slow_senders *found, const struct measured *measured)
{
    struct suspect suspect = {.kind = FINDING_NETWORK,
                              .rank = found->rank,
                              .first_step = found->steps.first,
                              .last_step = found->steps.last,
                              .total_ns = measured->slowness.slow_ns,
                              .gain_ns = measured->gain_ns};
    for (size_t i = 0; i < it->suspects->count; i++) {
        const struct suspect *other = &it->suspects->items[i];
        if (other->kind == FINDING_NETWORK && found->has[other->rank] &&
            other->last_step == suspect.last_step)
            suspect.shows_later |= other->shows_later;
    }
    return suspect;
}

/* -1 when memory runs out. */
static int measure(struct explained_network_explaining *it, const struct slow_senders *found,
                   struct measured *measured)
{
    *measured =
        (struct measured){.slowness = {.edges = it->edges->count, .is_against_others = found->is_steady}};
    if (find_cuts(it, found, measured))
        return -1;
    measured->gain_ns = replay_gain_of_cuts(it->replay, it->cuts);
    struct suspect suspect = suspect_of(it, found, measured);
    /* Where other steps lie between its steps, the total duration proves nothing. */
    measured->lengthening = (struct lengthening){.most_ns = INT64_MAX};
    return found->steps.period == 1
               ? suspect_measure_steps(it->suspects, &suspect, it->job, it->baseline, &measured->lengthening)
               : 0;
}

/* The cost, limited by the duration of the steps. */
static int64_t cost_of_senders(const struct measured *measured)
{
    int64_t most_ns = measured->lengthening.most_ns;
    int64_t cost_ns = measured->gain_ns < most_ns ? measured->gain_ns : most_ns;
    return cost_ns > 0 ? cost_ns : 0;
}

/* Applies the rules that need no replay. -1 when memory runs out. */
static int ask_senders(const struct explained_network_explaining *it, const struct slow_senders *found,
                       struct finding *finding)
{
    const struct findings *findings = it->findings;
    int on_way = found->is_steady ? slow_senders_count_fast_peers(&it->search, found) : 0;
    if (on_way < 0)
        return -1;
    finding->kind = FINDING_NETWORK;
    finding->confidence = CONFIDENCE_HIGH;
    finding_ask(findings, finding, RULE_CERTAINTY_SENDERS,
                found->certainty - log(job_selection_ratio(it->job)));
    finding_ask(findings, finding, RULE_LONGER_WAY, found->is_steady ? on_way : NOT_ASKED);
    finding_ask(findings, finding, RULE_STEADY, found->is_steady ? 1 : NOT_ASKED);
    finding_ask_record(findings, finding, it->job, it->baseline);
    return 0;
}

/*
 * By how much its weakest step was slow where that may be connections that get up to speed; NOT_ASKED
 * otherwise.
 */
static double measure_connecting(const struct explained_network_explaining *it,
                                 const struct slow_senders *found, const struct measured *measured)
{
    if (found->steps.first > it->baseline->first_step || found->is_steady)
        return NOT_ASKED;
    return ratio_of(measured->weakest_ns, it->baseline->median_step_ns);
}

/* Applies the rules about its cost. */
static void ask_cost(const struct explained_network_explaining *it, const struct slow_senders *found,
                     const struct measured *measured, struct finding *finding)
{
    const struct findings *findings = it->findings;
    struct suspect suspect = suspect_of(it, found, measured);
    double worth = ratio_of(finding->lost_ns, it->baseline->median_step_ns) / step_set_count(&found->steps);
    worth = it->options->min_gain > 0 ? worth / it->options->min_gain : worth > 0 ? 2 : 0;
    suspect_ask_steps(&suspect, &measured->lengthening);
    for (int rule = 0; rule < RULE_COUNT; rule++)
        if (suspect.rule_results.asked[rule])
            finding_ask(findings, finding, (enum rule_id)rule, suspect.rule_results.values[rule]);
    finding_ask(findings, finding, RULE_WORTH, worth);
    finding_ask(findings, finding, RULE_WORTH_SURE, worth);
    finding_ask(findings, finding, RULE_SILENT_RANK,
                job_silent_ranks(it->job) ? suspect_longer(&suspect, &measured->lengthening) : NOT_ASKED);
    finding_ask(findings, finding, RULE_CONNECTING, measure_connecting(it, found, measured));
    finding_ask(findings, finding, RULE_LATE_RECEIVERS,
                ratio_of(measured->late_ns, measured->slowness.slow_ns));
}

static int add_peers(struct finding *finding, const struct slow_senders *found, const struct edges *edges)
{
    for (size_t i = 0; i < edges->count; i++)
        if (found->has[edges->items[i].sender] && slow_senders_have_step(found, edges->items[i].step) &&
            finding_add_peer(finding, edges->items[i].receiver))
            return -1;
    return 0;
}

static int fill(const struct explained_network_explaining *it, const struct slow_senders *found,
                struct measured *measured, struct finding *finding)
{
    measured->slowness.worse = &measured->slowness.sent;
    finding->rank = found->rank;
    finding->tag = measured->tag;
    finding->first_step = found->steps.first;
    finding->last_step = found->steps.last;
    finding->period = found->steps.period;
    finding->numbers = found->steps.numbers;
    finding->certainty = found->certainty;
    finding->lost_ns = cost_of_senders(measured);
    finding->slow_ns = measured->slowness.slow_ns;
    return finding_take_ranks(finding, found->has, it->job->rank_count) ||
           add_peers(finding, found, it->edges) || slowness_append(&measured->slowness, finding);
}

/* Whether a finding of one of its networks shares more than half of the steps of the shorter one. */
static int is_in(const struct finding *finding, const struct slow_senders *found)
{
    int32_t shared = 0, steps = finding->last_step - finding->first_step + 1,
            counted = step_set_count(&found->steps);
    if (finding->kind != FINDING_NETWORK || finding->certainty > 0 || finding->first_step < 0 ||
        !found->has[finding->rank])
        return 0;
    for (int32_t step = finding->first_step; step <= finding->last_step; step++)
        shared += slow_senders_have_step(found, step);
    return shared * 2 > (steps < counted ? steps : counted);
}

/* Whether a finding of at least medium confidence already reports it: one rank in consecutive steps. */
static int is_told(const struct findings *findings, const struct slow_senders *found)
{
    for (size_t i = 0; i < findings->count && found->count < 2 && !found->is_steady; i++)
        if (findings->items[i].confidence > CONFIDENCE_LOW && is_in(&findings->items[i], found))
            return 1;
    return 0;
}

static void take_in(struct findings *findings, const struct slow_senders *found)
{
    for (size_t i = findings->count - 1; i-- > 0;)
        if (is_in(&findings->items[i], found))
            findings_remove(findings, i);
}

/* A group of low confidence does not replace a finding, and adds nothing to it. -1 when memory runs out. */
static int take(struct explained_network_explaining *it, const struct slow_senders *found)
{
    struct measured measured;
    if (!found->count || is_told(it->findings, found))
        return 0;
    struct finding *finding = findings_add(it->findings);
    if (!finding || ask_senders(it, found, finding))
        return -1;
    if (finding->confidence > CONFIDENCE_LOW) {
        if (measure(it, found, &measured) || fill(it, found, &measured, finding))
            return -1;
        double drain;
        if (finding_measure_drain(finding, it->job, it->baseline, &drain))
            return -1;
        ask_cost(it, found, &measured, finding);
        finding_ask(it->findings, finding, RULE_RECEIVERS_DRAIN, drain);
    }
    if (finding->confidence == CONFIDENCE_LOW) {
        findings_remove(it->findings, it->findings->count - 1);
        return 0;
    }
    transfers_note_culprit(it->transfers, it->cuts, it->job->instance_count, found->rank);
    take_in(it->findings, found);
    return 0;
}

static int take_all(struct explained_network_explaining *it)
{
    struct slow_senders found = {.has = array_new(it->job->rank_count, sizeof *found.has)};
    int are_there = 0, failed = !found.has;
    for (int i = 0; !failed && i < MOST_GROUPS && (are_there = slow_senders_next(&it->search, &found)) > 0;
         i++)
        failed = take(it, &found);
    free(found.has);
    return failed || are_there < 0 ? -1 : 0;
}

int findings_take_senders(struct findings *findings, const struct suspects *suspects, const struct job *job,
                          const struct baseline *baseline, const struct edges *edges,
                          struct transfer_excess *transfers, struct replay *replay,
                          const struct diagnose_options *options, struct error *error)
{
    struct explained_network_explaining it = {.findings = findings,
                                              .suspects = suspects,
                                              .job = job,
                                              .baseline = baseline,
                                              .edges = edges,
                                              .transfers = transfers,
                                              .options = options,
                                              .replay = replay,
                                              .cuts = array_new(job->instance_count + 1, sizeof *it.cuts)};
    const struct sender_limits acceptance_limits = {limit_of(LIMIT_CERTAINTY),
                                                    limit_of(LIMIT_SLOWER_OPERATIONS)};
    int failed = 0;
    if (replay && edges->count && !job->finished_only && baseline->median_step_ns)
        failed = !it.cuts || sender_search_init(&it.search, job, baseline, edges, acceptance_limits) ||
                 take_all(&it);
    sender_search_release(&it.search);
    free(it.cuts);
    return failed ? error_no_memory(error) : 0;
}

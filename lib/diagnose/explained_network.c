/*
 * Turns units whose transfers were slow (slow_groups.c, slow_units.c) into network findings: measures what
 * removing the slowness gains in the replay, and applies the rules. Where the trace cannot tell which rank is
 * at fault, such a finding names candidates.
 */
#include "base/base.h"
#include "diagnose/delay.h"
#include "diagnose/diagnose.h"
#include "diagnose/evidence.h"
#include "diagnose/finding.h"
#include "diagnose/network.h"
#include "job/job.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>

/* More at once than this cannot be told apart, and each takes two replays. */
enum { MOST_UNITS = 12 };

/* The state while slow units are turned into findings. */
struct explaining_network {
    struct findings *findings;
    const int64_t *cost_ns; /* by step: what other findings cost */
    const struct job *job;
    const struct baseline *baseline;
    const struct edges *edges;
    struct transfer_excess *transfers;
    const struct diagnose_options *options;
    struct transfer_groups groups;
    struct told_transfers told; /* owned */
    struct replay *replay;
    size_t doubted;      /* units that were slow in all steps and are not believed to be at fault */
    signed char *longer; /* owned: which steps are by far longer (struct network_limits) */
    int64_t *cuts;       /* owned: by how much shorter each instance would be without the slowness */
    int64_t *list;       /* owned: scratch, room for all ranks */
    int64_t *own_ns;     /* owned: scratch, own time of each rank in a step */
};

/* The measurements of a slow unit. */
struct measured {
    struct slowness slowness;
    int64_t gain_ns;
    int64_t cut_ns;  /* by how much shorter its operations would be */
    int64_t late_ns; /* the part of the slowness in sends to ranks that were late themselves, or from ranks
                        whose proxy threads were */
    int64_t own_ns;  /* by how much its ranks computed longer than their peers, in the same steps */
    int32_t tag;     /* the phase with most of it; -1: none */
    struct lengthening lengthening;
};

/* -------------------- measurements -------------------- */

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
static int64_t count_edge(const struct explaining_network *it, const struct edge *edge, double excess,
                          struct measured *measured)
{
    struct slowness *slowness = &measured->slowness;
    double part = 1 - exp(-excess);
    int64_t cut_ns = scale(edge->busy_ns, part);
    slowness->slow_ns += cut_ns;
    if (was_late(it->findings, edge->receiver, edge->step) ||
        had_late_threads(it->findings, edge->sender, edge->step))
        measured->late_ns += cut_ns;
    slowness->steps += edge->steps;
    slowness->wait_ns += edge->wait_ns;
    slowness->extra_ns += scale(edge->wait_ns, part);
    if (edge->wait_max_ns > slowness->longest_ns)
        slowness->longest_ns = edge->wait_max_ns;
    return cut_ns;
}

/*
 * In all steps, no past shows whether a slow link is part of the transfer or held some members only: it is
 * the part of the transfer that the links do not need without the slowness.
 */
static void hold_all(const struct explaining_network *it, size_t instance, int64_t cut_ns, int64_t usual_ns)
{
    int64_t *some_ns = &it->transfers[instance].some_ns;
    int64_t shown_ns = it->job->instances[instance].transfer_ns - usual_ns;
    if (shown_ns <= 0 || cut_ns - shown_ns >= *some_ns)
        return;
    *some_ns = cut_ns > shown_ns ? cut_ns - shown_ns : 0;
    if (it->replay)
        it->replay->tail_ns[instance] = *some_ns;
}

/*
 * How much shorter an instance would be if these links were as fast as the others. An instance ends when its
 * last link does.
 */
static int64_t cut_of_links(const struct explaining_network *it, const struct slow_network *found,
                            size_t instance, struct measured *measured)
{
    int64_t with_ns = 0, without_ns = 0, transfer_ns = it->job->instances[instance].transfer_ns;
    for (size_t i = it->edges->first[instance]; i < it->edges->first[instance + 1]; i++) {
        const struct edge *edge = &it->edges->items[i];
        int64_t busy_ns = edge->busy_ns;
        if (found->edge_excess[i] > 0)
            busy_ns -= count_edge(it, edge, found->edge_excess[i], measured);
        with_ns = edge->busy_ns > with_ns ? edge->busy_ns : with_ns;
        without_ns = busy_ns > without_ns ? busy_ns : without_ns;
    }
    if (transfer_ns == TIME_UNKNOWN)
        return it->replay ? 0 : with_ns - without_ns;
    if (found->is_steady && with_ns > without_ns)
        hold_all(it, instance, with_ns - without_ns, without_ns);
    /* A link may have held some of the members only. */
    transfer_ns += it->transfers[instance].some_ns;
    return with_ns - without_ns < transfer_ns ? with_ns - without_ns : transfer_ns;
}

static int64_t cut_of(const struct explaining_network *it, const struct slow_network *found, size_t instance,
                      struct measured *measured)
{
    if (it->edges->first[instance] < it->edges->first[instance + 1])
        return cut_of_links(it, found, instance, measured);
    double excess = slow_groups_excess(&it->groups, found, instance);
    int64_t cut_ns = excess > 0 ? scale(it->job->instances[instance].transfer_ns, 1 - exp(-excess)) : 0;
    measured->slowness.slow_ns += cut_ns;
    return cut_ns;
}

/*
 * Without a replay: by how much steps were longer than the median, at most by what links were slow in them.
 * Steps of unknown duration count as long enough, and so do all if links were slow in all: then the median is
 * that of slow steps.
 */
static int64_t longer_by(const struct explaining_network *it, int is_steady, int32_t step, int64_t slow_ns)
{
    const struct baseline *baseline = it->baseline;
    int64_t longer_ns = baseline->step_ns[step] == TIME_UNKNOWN
                            ? slow_ns
                            : baseline->step_ns[step] - (is_steady ? 0 : baseline->median_step_ns);
    return longer_ns < 0 ? 0 : longer_ns < slow_ns ? longer_ns : slow_ns;
}

/* Finds the phase that they slowed down most and, without a replay, the gain. */
static void find_most(const struct explaining_network *it, const struct slow_network *found,
                      const int64_t *by_tag, const int64_t *by_step, struct measured *measured)
{
    int32_t tag = greatest_above_zero(by_tag, it->job->tags.count + 1);
    measured->tag = tag > 0 ? tag - 1 : -1;
    for (int32_t step = found->steps.first; step <= found->steps.last; step++)
        if (!it->replay && step_set_has(&found->steps, step))
            measured->gain_ns += longer_by(it, found->is_steady, step, by_step[step]);
}

/* Fills in the instances that they slowed down. -1 when memory runs out. */
static int find_cuts(struct explaining_network *it, const struct slow_network *found,
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
        by_tag[job->instances[i].tag + 1] += it->cuts[i];
        by_step[job->instances[i].step] += it->cuts[i];
        if (job->instances[i].transfer_ns == TIME_UNKNOWN)
            continue;
        slowness->operations++;
        slowness->transfer_ns += job->instances[i].transfer_ns + it->transfers[i].some_ns;
        measured->cut_ns += it->cuts[i];
        if (job->instances[i].transfer_ns > slowness->slowest_ns) {
            slowness->slowest_ns = job->instances[i].transfer_ns;
            slowness->slowest_usual_ns = job->instances[i].transfer_ns - it->cuts[i];
        }
    }
    if (!failed)
        find_most(it, found, by_tag, by_step, measured);
    free(by_tag);
    free(by_step);
    return failed ? -1 : 0;
}

/* The own time of all ranks in a step. */
static void sum_own_times(const struct explaining_network *it, int32_t step)
{
    for (int32_t rank = 0; rank < (int32_t)it->job->rank_count; rank++) {
        struct job_range range = job_operations_in(it->job, rank, step, step);
        it->own_ns[rank] = 0;
        for (size_t i = range.first; i < range.end; i++) {
            const struct job_operation *operation = &it->job->operations[i];
            if (operation->rank == rank && operation->step == step && operation->own_ns != TIME_UNKNOWN)
                it->own_ns[rank] += operation->own_ns;
        }
    }
}

/* Own time of a rank in a step minus the median of those in its role that are no candidates; 0: not known. */
static int64_t beyond_peers(const struct explaining_network *it, const struct slow_network *found,
                            int32_t rank)
{
    int32_t role = it->baseline->role_of_rank[rank];
    size_t count = 0;
    for (size_t i = 0; role >= 0 && i < it->baseline->roles[role].rank_count; i++) {
        int32_t other = it->baseline->roles[role].ranks[i];
        if (!found->may[other])
            it->list[count++] = it->own_ns[other];
    }
    return count ? it->own_ns[rank] - median_of(it->list, count) : 0;
}

/*
 * How much longer the slowest candidate computed than its peers, where that is the only evidence of a
 * contended GPU, which transfers slowly, too: in all steps. For some steps, the rank's own past shows it, and
 * there is a finding. -1 when memory runs out.
 */
static int64_t longest_own_ns(const struct explaining_network *it, const struct slow_network *found)
{
    int64_t *sum_ns = array_new(it->job->rank_count, sizeof *sum_ns), most_ns = sum_ns ? 0 : -1;
    for (int32_t step = found->steps.first; sum_ns && found->is_steady && step <= found->steps.last; step++) {
        sum_own_times(it, step);
        for (int32_t rank = 0; rank < (int32_t)it->job->rank_count; rank++)
            sum_ns[rank] += found->may[rank] ? beyond_peers(it, found, rank) : 0;
    }
    for (size_t rank = 0; sum_ns && rank < it->job->rank_count; rank++)
        most_ns = sum_ns[rank] > most_ns ? sum_ns[rank] : most_ns;
    free(sum_ns);
    return most_ns;
}

static int32_t first_rank(const struct slow_network *found)
{
    int32_t rank = 0;
    while (!found->may[rank])
        rank++;
    return rank;
}

/* Whether the unit was slow in all steps. */
static int is_in_all_steps(const struct explaining_network *it, const struct slow_network *found)
{
    return found->is_steady && found->steps.first <= it->baseline->first_step &&
           found->steps.last == it->job->step_count - 1;
}

/* -1 when memory runs out. */
static int measure(struct explaining_network *it, const struct slow_network *found, struct measured *measured)
{
    *measured = (struct measured){.slowness = {.is_against_others = found->is_steady && found->slow_links,
                                               .is_against_groups = found->is_steady && !found->slow_links},
                                  .lengthening = {.most_ns = INT64_MAX}};
    if (find_cuts(it, found, measured))
        return -1;
    if (it->replay)
        measured->gain_ns = replay_gain_of_cuts(it->replay, it->cuts);
    measured->own_ns = found->slow_links ? 0 : longest_own_ns(it, found);
    if (measured->own_ns < 0)
        return -1;
    const struct costly_steps steps = {found->steps.first, found->steps.last, it->cost_ns, 0, NULL, NULL};
    /* Where other steps lie between its steps, the total duration proves nothing. */
    return found->steps.period == 1 && !is_in_all_steps(it, found)
               ? lengthening_measure(&measured->lengthening, &steps, it->job, it->baseline)
               : 0;
}

/* -------------------- rules -------------------- */

/*
 * Whether durations are all that is known of the operations: when they were called, and so which rank was
 * late by a little, is not.
 */
static int has_durations_only(const struct explaining_network *it, const struct slow_network *found)
{
    const struct job_instance *instance = &it->job->instances[it->groups.items[found->group].instance];
    return !found->slow_links && instance->members > 0 && job_member(it->job, instance, 0)->stamped &&
           !job_records_calls(it->job, job_member(it->job, instance, 0)->rank);
}

/*
 * Whether it leaves all ranks as candidates, and not because what lies between hosts is slow: nothing tells
 * the network from GPUs or CPU cores that are busy, which slow down transfers as well.
 */
static int leaves_all(const struct explaining_network *it, const struct slow_network *found)
{
    return !found->is_unit && found->count == it->job->rank_count && found->unit != NETWORK_HOSTS &&
           found->unit != NETWORK_ALL;
}

/* Whether a group has one of the slow links, which explains why it is slow, too. */
static int has_slow_link(const struct explaining_network *it, const struct slow_network *found,
                         const struct transfer_group *group)
{
    for (size_t i = 0; group->kind != TRANSFER_GROUP && i < it->edges->count; i++) {
        const struct edge *edge = &it->edges->items[i];
        if (found->edge_excess[i] > 0 &&
            (group->kind == TRANSFER_SENDS ? edge->sender : edge->receiver) == group->rank)
            return 1;
    }
    return 0;
}

/*
 * Whether a unit that was slow in all steps is alone in that: others may have a longer way for the same
 * reason. Of units of several ranks, most others must be fast.
 */
static double measure_way(const struct explaining_network *it, const struct slow_network *found)
{
    const struct transfer_groups *groups = &it->groups;
    size_t others = 0, slow = it->doubted;
    int is_single = found->unit == NETWORK_RANK || found->unit == NETWORK_GROUP;
    if (!found->is_steady)
        return NOT_ASKED;
    for (size_t i = 0; i < groups->count && !(is_single && slow); i++) {
        const struct transfer_group *item = &groups->items[i];
        if (item->family != groups->items[found->group].family || i == found->group)
            continue;
        others++;
        slow += item->level >= groups->items[found->group].level / 2 && !has_slow_link(it, found, item);
    }
    return is_single ? slow == 0 : others > 2 * slow;
}

/* How many times the usual time something took. */
static double times_of(int64_t took_ns, int64_t extra_ns)
{
    return took_ns > extra_ns ? ratio_of(took_ns, took_ns - extra_ns) : INFINITY;
}

/* Whether the most certain of its groups is a pair of ranks on different hosts. */
static int is_pair_of_hosts(const struct explaining_network *it, const struct slow_network *found)
{
    const struct transfer_group *best = &it->groups.items[found->group];
    return best->kind == TRANSFER_GROUP && best->crosses == 1 &&
           it->job->instances[best->instance].function == FUNCTION_SEND;
}

/*
 * How many times as long the network steps, or the operations of pairs, waited, where that may be what
 * healthy links do at times: they wander for many steps, but not in every Nth, and do not make operations or
 * steps much longer, nor longer and by far slower than ever before.
 */
static void ask_slower(const struct explaining_network *it, const struct slow_network *found,
                       const struct measured *measured, double longer, struct finding *finding)
{
    const struct slowness *slowness = &measured->slowness;
    double operations = times_of(slowness->transfer_ns, measured->cut_ns);
    double times = found->slow_links ? times_of(slowness->wait_ns, slowness->extra_ns) : operations;
    if (found->ahead >= limit_of(LIMIT_AHEAD_MANY) && longer >= limit_of(LIMIT_LONGER_MANY))
        return;
    if ((found->slow_links || is_pair_of_hosts(it, found)) && found->steps.period == 1 && !found->is_steady &&
        longer < limit_of(LIMIT_LONGER_STEPS) &&
        (!slowness->operations || operations < limit_of(LIMIT_SLOWER_OPERATIONS)))
        finding_ask(it->findings, finding, RULE_NOT_SLOWER_MANY, times);
}

/* Links have slow moments that last for several steps: a certainty of theirs counts a tenth of the odds. */
static const double ODDS_OF_SLOW_MOMENTS = 10;

static void ask(const struct explaining_network *it, const struct slow_network *found,
                const struct measured *measured, struct finding *finding)
{
    const struct findings *findings = it->findings;
    double longer = ratio_of(finding->lost_ns, it->baseline->median_step_ns) / step_set_count(&found->steps);
    double worth = it->options->min_gain > 0 ? longer / it->options->min_gain : longer > 0 ? 2 : 0;
    finding->confidence = CONFIDENCE_HIGH;
    double certainty = found->certainty - log(job_selection_ratio(it->job)) - log(ODDS_OF_SLOW_MOMENTS);
    finding_ask(findings, finding, RULE_CERTAINTY, found->is_moment ? NOT_ASKED : certainty);
    finding_ask(findings, finding, RULE_CERTAINTY_SURE, found->is_moment ? NOT_ASKED : certainty);
    finding_ask(findings, finding, RULE_ONE_OF_SEVERAL, (double)(found->is_unit ? 1 : found->count));
    finding_ask(findings, finding, RULE_ESTIMATED, has_durations_only(it, found));
    finding_ask(findings, finding, RULE_BY_DESIGN, measure_way(it, found));
    finding_ask_record(findings, finding, it->job, it->baseline);
    ask_slower(it, found, measured, longer, finding);
    finding_ask(findings, finding, RULE_WORTH, worth);
    finding_ask(findings, finding, RULE_WORTH_SURE, worth);
    finding_ask_steps(findings, finding, &measured->lengthening, measured->gain_ns);
    finding_ask(findings, finding, RULE_LATE_RECEIVERS,
                ratio_of(measured->late_ns, measured->slowness.slow_ns));
}

/* -------------------- the finding -------------------- */

/* The ranks of a unit are at fault together; of others, one may be. */
static int add_ranks(struct finding *finding, const struct slow_network *found, size_t ranks)
{
    if (found->is_unit)
        return finding_take_ranks(finding, found->may, ranks);
    for (int32_t rank = 0; found->count > 1 && rank < (int32_t)ranks; rank++)
        if (found->may[rank] && finding_add_candidate(finding, rank))
            return -1;
    return 0;
}

static int add_peers(const struct explaining_network *it, const struct slow_network *found,
                     struct finding *finding)
{
    for (size_t i = 0; i < it->edges->count; i++) {
        const struct edge *edge = &it->edges->items[i];
        if (found->edge_excess[i] > 0 &&
            finding_add_peer(finding, found->receives ? edge->sender : edge->receiver))
            return -1;
    }
    return 0;
}

/* Appends ". They are the operations of ranks 4-7 and of 2 other groups". */
static int append_groups(const struct explaining_network *it, const struct slow_network *found,
                         struct buffer *text)
{
    const struct job *job = it->job;
    const struct transfer_group *best = &it->groups.items[found->group];
    size_t others = 0;
    if (best->kind != TRANSFER_GROUP)
        return 0;
    const struct job_instance *instance = &job->instances[best->instance];
    for (size_t group = 0; group < it->groups.count; group++)
        others +=
            group != found->group && found->has[group] && it->groups.items[group].kind == TRANSFER_GROUP;
    if (buffer_append_text(text, ". They are the operations "))
        return -1;
    if (instance->function == FUNCTION_SEND
            ? buffer_printf(text, "from rank %s to rank %s", job->ranks[instance->sender].name,
                            job->ranks[instance->receiver].name)
            : buffer_append_text(text, "of ") ||
                  text_communicator(text, &job->communicators[instance->communicator]))
        return -1;
    if (others && buffer_printf(text, " and of %zu other group%s of ranks", others, others == 1 ? "" : "s"))
        return -1;
    if (found->later_ns)
        return buffer_printf(text, ". In these steps, rank %s joins operations ",
                             job->ranks[first_rank(found)].name) ||
               text_time(text, found->later_ns) ||
               buffer_append_text(
                   text,
                   " later per step than in other steps, compared with the other ranks. A slow "
                   "link does not cause that; a busy GPU or CPU does, and slows down transfers, "
                   "too");
    if (has_durations_only(it, found))
        return buffer_append_text(text,
                                  ". Durations do not show which link is slow, or whether a busy GPU or "
                                  "CPU slows the transfers down");
    return found->is_unit || found->count < job->rank_count
               ? 0
               : buffer_append_text(text,
                                    ". Without network steps, the trace does not show which link is "
                                    "slow; busy CPU cores may slow down transfers, too");
}

/* Appends which links are slow, where it is those of several hosts. */
static int append_hosts(const struct slow_network *found, struct buffer *text)
{
    if (!found->slow_links || (found->unit != NETWORK_HOSTS && found->unit != NETWORK_ALL))
        return 0;
    return buffer_printf(text,
                         found->unit == NETWORK_ALL
                             ? ". All %zu links between hosts are slow: check the switch"
                             : ". The %zu links between two parts of the hosts are slow: check the switch",
                         found->slow_links);
}

static int fill(const struct explaining_network *it, const struct slow_network *found,
                struct measured *measured, struct finding *finding)
{
    int64_t most_ns = measured->lengthening.most_ns;
    struct slowness slowness = measured->slowness;
    /* Several links of an operation are slow at the same time, and of some the transfer is not known. */
    slowness.slow_ns = measured->cut_ns;
    finding->kind = FINDING_NETWORK;
    finding->rank = first_rank(found);
    finding->receives = found->receives;
    finding->tag = measured->tag;
    finding->certainty = found->certainty;
    finding->lost_ns = measured->gain_ns < most_ns ? measured->gain_ns : most_ns;
    finding->lost_ns = finding->lost_ns > 0 ? finding->lost_ns : 0;
    finding->slow_ns = measured->slowness.slow_ns;
    return finding_take_steps(finding, &found->steps) || add_ranks(finding, found, it->job->rank_count) ||
           add_peers(it, found, finding) || slowness_append_pause(&slowness, measured->gain_ns, finding) ||
           append_groups(it, found, &finding->evidence) || append_hosts(found, &finding->evidence);
}

/* -------------------- other findings -------------------- */

/* Whether another operation of its rank began before it ended: they share no stream. */
static int is_overlapped(const struct job *job, const struct job_operation *operation)
{
    const struct job_rank *rank = &job->ranks[operation->rank];
    size_t next = (size_t)(operation - job->operations) + 1;
    return next < rank->first + rank->count && job->operations[next].group != operation->group &&
           job->operations[next].start_ns != TIME_UNKNOWN &&
           job->operations[next].start_ns < operation->end_ns;
}

/* Whether a member of an instance may have computed since its start, or an assumed time may be far off. */
static int may_wait(const struct job *job, const struct job_instance *instance)
{
    for (int32_t i = 0; i < instance->members; i++) {
        const struct job_operation *member = job_member(job, instance, i);
        if (member->inferred && (!member->stamped || is_overlapped(job, member)))
            return 1;
    }
    return 0;
}

/*
 * Whether durations without network steps are those of a group that may have a member without a trace, which
 * the others may have waited for. Or of a pair of ranks, in some of the steps, of which a side has an assumed
 * start: any rank that was late in these steps may have made it wait. In all steps, its sisters would have
 * waited as well. Where the duration is recorded, the start is known, unless the rank does something else at
 * the same time.
 */
static int may_have_waited(const struct explaining_network *it, const struct slow_network *found)
{
    const struct job *job = it->job;
    const struct transfer_group *best = &it->groups.items[found->group];
    if (found->slow_links || best->kind != TRANSFER_GROUP)
        return 0;
    if (job_silent_ranks(job) &&
        !job->communicators[job->instances[best->instance].communicator].size_is_known)
        return 1;
    if (found->is_steady || job->instances[best->instance].function != FUNCTION_SEND)
        return 0;
    for (size_t i = 0; i < job->instance_count; i++)
        if (it->groups.of_instance[i] == (int32_t)found->group &&
            step_set_has(&found->steps, job->instances[i].step) && may_wait(job, &job->instances[i]))
            return 1;
    return 0;
}

/* Whether it was slow from the first step on and not to the last: connections may still have ramped up. */
static int may_connect(const struct explaining_network *it, const struct slow_network *found)
{
    return !found->is_steady && found->steps.period == 1 && found->steps.first <= it->baseline->first_step &&
           found->steps.last < it->baseline->step_count - 1;
}

/* Whether the transfers of the most certain group were longer because they carried more data. */
static int carries_more(const struct explaining_network *it, const struct slow_network *found,
                        const struct measured *measured)
{
    double bytes[2] = {0}, count[2] = {0};
    if (found->slow_links || found->is_steady)
        return 0;
    for (size_t i = 0; i < it->job->instance_count; i++) {
        const struct job_instance *instance = &it->job->instances[i];
        int is_in = step_set_has(&found->steps, instance->step);
        if (it->groups.of_instance[i] != (int32_t)found->group)
            continue;
        bytes[is_in] += (double)job_member(it->job, instance, 0)->bytes;
        count[is_in]++;
    }
    return count[0] > 0 && count[1] > 0 && bytes[0] > 0 &&
           bytes[1] * count[0] / (bytes[0] * count[1]) >=
               times_of(measured->slowness.transfer_ns, measured->cut_ns);
}

/* Whether a finding has one of the ranks, in most of the steps. */
static int is_of(const struct finding *finding, const struct slow_network *found, size_t ranks)
{
    int32_t shared = 0, has = 0;
    for (int32_t rank = 0; rank < (int32_t)ranks; rank++)
        has |= found->may[rank] && finding_has_rank(finding, rank);
    for (int32_t step = found->steps.first; has && step <= found->steps.last; step++)
        shared += step_set_has(&found->steps, step) && finding_has_step(finding, step);
    return shared * 2 > step_set_count(&found->steps);
}

/* A late rank that costs at least this many times as much explains that its links are slow. */
enum { TIMES_OF_AFTER_EFFECT = 10 };

/*
 * Whether a finding of ranks that may be those of the network, in most of its steps, explains the slowness:
 * where no network steps show the link, one of at least medium confidence, or a late rank that costs half as
 * much, because a contended GPU transfers slowly, too. Links that network steps show to be slow are an
 * after-effect only of a rank that was late by far more: a connection that was idle starts slowly.
 */
static int explains(const struct finding *finding, const struct slow_network *found, int64_t gain_ns)
{
    int is_late = finding->kind < FINDING_NETWORK;
    int is_sure = finding->confidence > CONFIDENCE_LOW;
    if (found->slow_links)
        return is_late && is_sure && finding->lost_ns / TIMES_OF_AFTER_EFFECT >= gain_ns;
    return is_sure || (is_late && finding->lost_ns * 2 >= gain_ns);
}

/*
 * Whether a host that stood still in that step (silent_hosts.c) explains what happened once: with its proxy
 * threads, its transfers and those of the ranks that wait for it stop as well.
 */
static int stood_still(const struct finding *finding, const struct slow_network *found, int64_t gain_ns)
{
    return finding->kind == FINDING_HOST && finding->pause_ns && step_set_count(&found->steps) == 1 &&
           finding_has_step(finding, found->steps.first) && finding->lost_ns * 2 >= gain_ns;
}

/* Whether another finding explains the slowness. */
static int is_told(const struct explaining_network *it, const struct slow_network *found, int64_t gain_ns)
{
    const struct findings *findings = it->findings;
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        /* What is wrong in all steps does not explain what changes. */
        int is_in_all = !found->is_steady && finding->first_step <= it->baseline->first_step &&
                        finding->last_step == it->job->step_count - 1 && finding->period < 2;
        if (stood_still(finding, found, gain_ns) ||
            (!is_in_all && explains(finding, found, gain_ns) && is_of(finding, found, it->job->rank_count)))
            return 1;
    }
    return 0;
}

/* Whether the steps in which one of its candidates joined operations later may tell which of them it is. */
static int may_be_member(const struct explaining_network *it, const struct slow_network *found)
{
    return !found->is_steady && !found->is_moment && !found->is_unit && found->count > 1 &&
           has_durations_only(it, found);
}

/* Keeps what no rank can be named for, if it costs more than what is kept. */
static void note_slow_for_all(const struct explaining_network *it, const struct slow_network *found,
                              const struct measured *measured)
{
    const struct slowness *slowness = &measured->slowness;
    struct slow_for_all *slow = &it->findings->slow_for_all;
    if (!slowness->operations || (slow->steps.period && slow->gain_ns >= measured->gain_ns))
        return;
    *slow =
        (struct slow_for_all){.steps = found->steps,
                              .transfer_ns = slowness->transfer_ns / slowness->operations,
                              .usual_ns = (slowness->transfer_ns - measured->cut_ns) / slowness->operations,
                              .gain_ns = measured->gain_ns};
    slow->steps.marks = NULL;
}

/*
 * A unit of low confidence does not replace a finding, and adds nothing to it. Returns 1 if it became a
 * finding, 0 if not, -1 when memory runs out.
 */
static int take(struct explaining_network *it, struct slow_network *found)
{
    struct measured measured;
    if (!found->count || may_connect(it, found) || may_have_waited(it, found))
        return 0;
    if (may_be_member(it, found) &&
        slow_member_find(it->job, it->baseline, limit_of(LIMIT_CERTAINTY_SURE), found))
        return -1;
    if (measure(it, found, &measured))
        return -1;
    if (measured.own_ns * 2 > measured.slowness.slow_ns || carries_more(it, found, &measured) ||
        is_told(it, found, measured.gain_ns))
        return 0;
    struct finding *finding = findings_add(it->findings);
    if (!finding || fill(it, found, &measured, finding))
        return -1;
    ask(it, found, &measured, finding);
    int is_of_all =
        finding->confidence > CONFIDENCE_LOW && has_durations_only(it, found) && leaves_all(it, found);
    if (is_of_all)
        note_slow_for_all(it, found, &measured);
    if (is_of_all || finding->confidence == CONFIDENCE_LOW) {
        findings_remove(it->findings, it->findings->count - 1);
        it->doubted += found->is_steady;
        return 0;
    }
    /* The rules were those of its network. */
    finding->kind = found->later_ns ? FINDING_LATE : FINDING_NETWORK;
    transfers_note_culprit(it->transfers, it->cuts, it->job->instance_count, finding->rank);
    return 1;
}

/*
 * Notes what was found, so that it is not found again: all of a finding; of what did not become one, only the
 * most certain group, because the others may be slow for another reason.
 */
static void note_told(const struct explaining_network *it, const struct slow_network *found, int is_taken)
{
    const struct transfer_group *best = &it->groups.items[found->group];
    for (size_t i = 0; i < it->edges->count; i++) {
        const struct edge *edge = &it->edges->items[i];
        int is_of_best = (best->kind == TRANSFER_SENDS && edge->sender == best->rank) ||
                         (best->kind == TRANSFER_RECEIVES && edge->receiver == best->rank);
        it->told.edges[i] |=
            is_taken ? found->edge_excess[i] > 0 : is_of_best && step_set_has(&found->steps, edge->step);
    }
    for (size_t i = 0; i < it->job->instance_count; i++) {
        int32_t group = it->groups.of_instance[i];
        it->told.instances[i] |= group >= 0 && (found->has[group] || (size_t)group == found->group) &&
                                 step_set_has(&found->steps, it->job->instances[i].step);
    }
}

/* Takes the next unit. Returns 1 if there was one, 0 if not, -1 when memory runs out. */
static int take_next(struct explaining_network *it)
{
    const struct network_limits least = {limit_of(LIMIT_CERTAINTY), limit_of(LIMIT_SLOWER_OPERATIONS),
                                         limit_of(LIMIT_PAUSE) * (double)it->baseline->median_step_ns,
                                         it->longer};
    struct slow_network found = {0};
    int is_taken = 0;
    int is_found = transfer_groups_init(&it->groups, it->job, it->baseline->first_step, it->edges, it->told)
                       ? -1
                       : it->groups.count > 0;
    if (is_found > 0)
        is_found =
            slow_network_init(&found, &it->groups) ? -1 : slow_groups_next(&it->groups, &least, &found);
    if (is_found > 0)
        is_taken = slow_units_find(&it->groups, &found) ? -1 : take(it, &found);
    if (is_taken < 0)
        is_found = -1;
    if (is_found > 0)
        note_told(it, &found, is_taken);
    slow_network_release(&found);
    transfer_groups_release(&it->groups);
    return is_found;
}

/* Marks the steps that are longer than a healthy network makes several of them. */
static void mark_longer(struct explaining_network *it)
{
    double least_ns = (1 + limit_of(LIMIT_LONGER_STEPS)) * (double)it->baseline->median_step_ns;
    for (int32_t step = 0; step < it->job->step_count; step++) {
        int64_t step_ns = it->baseline->step_ns[step];
        it->longer[step] = (signed char)(step_ns == TIME_UNKNOWN ? -1 : (double)step_ns >= least_ns);
    }
}

int findings_take_network(struct findings *findings, const int64_t *cost_ns, const struct job *job,
                          const struct baseline *baseline, const struct edges *edges,
                          struct transfer_excess *transfers, struct replay *replay,
                          const struct diagnose_options *options, struct error *error)
{
    struct explaining_network it = {
        .findings = findings,
        .cost_ns = cost_ns,
        .job = job,
        .baseline = baseline,
        .edges = edges,
        .transfers = transfers,
        .options = options,
        .replay = replay,
        .told = {array_new(edges->count + 1, 1), array_new(job->instance_count + 1, 1)},
        .longer = array_new((size_t)job->step_count + 1, sizeof *it.longer),
        .cuts = array_new(job->instance_count + 1, sizeof *it.cuts),
        .list = array_new(job->rank_count + 1, sizeof *it.list),
        .own_ns = array_new(job->rank_count + 1, sizeof *it.own_ns)};
    int is_found =
        it.longer && it.cuts && it.list && it.own_ns && it.told.edges && it.told.instances ? 1 : -1;
    if (is_found > 0 && baseline->median_step_ns)
        mark_longer(&it);
    for (int i = 0; baseline->median_step_ns && i < MOST_UNITS && is_found > 0; i++)
        is_found = take_next(&it);
    free(it.told.edges);
    free(it.told.instances);
    free(it.longer);
    free(it.cuts);
    free(it.list);
    free(it.own_ns);
    return is_found < 0 ? error_no_memory(error) : 0;
}

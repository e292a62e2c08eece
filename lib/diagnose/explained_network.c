#include "diagnose/explained_network.h"

#include "base/array.h"
#include "base/scale.h"
#include "delay/replay.h"
#include "diagnose/rules_coverage.h"
#include "job/step_index.h"
#include "score/senders.h"
#include "score/units.h"

#include <math.h>
#include <stdlib.h>

/* Senders of one host, slow in the same steps. */
struct group {
    unsigned char *has; /* [rank] */
    size_t count;
    int32_t first_rank;
    struct step_set steps;
    int is_steady;
    double certainty; /* first of the most certain, then of all: their scores add up */
    double score;     /* of all */
    int64_t gain_ns;
    int64_t slow_ns;
    int64_t late_ns;  /* of that, in sends to ranks that were late themselves */
    double waited_ns; /* SendWait in its steps */
    double usual_ns;
    double network_steps;
};

struct search {
    const struct job *job;
    const struct baseline *baseline;
    const struct edges *edges;
    struct senders senders;
    struct partitions partitions;
    unsigned char *told; /* [rank] */
    struct replay replay;
};

/* The largest unit that the rank is in: what of the network is within none. */
static const struct partition *host_of(const struct search *search)
{
    return &search->partitions.items[search->partitions.count - 1];
}

/* By how much a sender waited longer in a step, as a logarithm. */
static double ratio_beyond(const struct search *search, const struct group *group, int32_t rank, int32_t step)
{
    const double *values = group->is_steady ? search->senders.ratio : search->senders.beyond;
    return values[(size_t)rank * (size_t)search->senders.steps + (size_t)step];
}

static int rate(const struct search *search, size_t rank, int is_steady, struct step_set *set,
                double *certainty)
{
    *certainty = 0;
    if (isnan(search->senders.usual[rank]) || search->told[rank])
        return 0;
    if (is_steady && search->senders.usual[rank] < log(limit_of(LIMIT_SLOWER_OPERATIONS)))
        return 0;
    if (senders_score(&search->senders, rank, is_steady, set))
        return -1;
    *certainty = senders_certainty(&search->senders, is_steady, set);
    return 0;
}

/* The most certain of all ranks that are not told yet. */
static int find_best(const struct search *search, struct group *best)
{
    best->certainty = 0;
    for (size_t rank = 0; rank < search->job->rank_count; rank++)
        for (int is_steady = 0; is_steady < 2; is_steady++) {
            struct step_set set = {.first = 1, .last = search->senders.steps - 1, .period = 1};
            double certainty;
            if (!is_steady && !isnan(search->senders.usual[rank]) &&
                senders_scan(&search->senders, rank, &set))
                return -1;
            if (set.period < 1)
                continue;
            if (rate(search, rank, is_steady, &set, &certainty))
                return -1;
            if (certainty > best->certainty) {
                best->certainty = certainty;
                best->steps = set;
                best->is_steady = is_steady;
                best->first_rank = (int32_t)rank;
            }
        }
    return 0;
}

/* Those of its host that were slow in the same steps: these are given, and cost no penalty again. */
static int gather(const struct search *search, struct group *group)
{
    const struct partition *hosts = host_of(search);
    int32_t best = group->first_rank;
    group->count = 0;
    group->score = 0;
    for (size_t rank = 0; rank < search->job->rank_count; rank++) {
        struct step_set set = group->steps;
        double certainty = 0;
        group->has[rank] = 0;
        set.score = 0;
        if (hosts->unit_of[rank] != hosts->unit_of[best])
            continue;
        if (rate(search, rank, group->is_steady, &set, &certainty))
            return -1;
        if (set.score <= 0 ||
            certainty + senders_penalty(&search->senders, group->is_steady) < limit_of(LIMIT_CERTAINTY))
            continue;
        group->score += set.score;
        group->has[rank] = 1;
        if (!group->count++)
            group->first_rank = (int32_t)rank;
    }
    struct step_set all = {.score = group->score};
    group->certainty = senders_certainty(&search->senders, group->is_steady, &all);
    return 0;
}

static int has_step(const struct group *group, int32_t step)
{
    return step >= group->steps.first && step <= group->steps.last &&
           (step - group->steps.first) % group->steps.period == 0;
}

static int was_late(const struct findings *findings, int32_t rank, int32_t step)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        if (finding->kind != FINDING_NETWORK && finding->confidence > CONFIDENCE_LOW &&
            finding_has_step(finding, step) && finding_has_rank(finding, rank))
            return 1;
    }
    return 0;
}

/* How much shorter an instance had been with links as quick as the others'. */
static int64_t cut_of(const struct search *search, struct group *group, const struct findings *findings,
                      size_t instance)
{
    int64_t most_ns = 0;
    for (size_t i = search->edges->first[instance]; i < search->edges->first[instance + 1]; i++) {
        const struct edge *edge = &search->edges->items[i];
        double excess =
            group->has[edge->sender] ? ratio_beyond(search, group, edge->sender, edge->step) : NAN;
        if (isnan(excess) || excess <= 0)
            continue;
        double part = 1 - exp(-excess);
        int64_t cut_ns = scale(edge->busy_ns, part);
        group->slow_ns += cut_ns;
        group->late_ns += was_late(findings, edge->receiver, edge->step) ? cut_ns : 0;
        group->waited_ns += (double)edge->wait_ns;
        group->usual_ns += (double)edge->wait_ns * (1 - part);
        group->network_steps += edge->steps;
        if (cut_ns > most_ns)
            most_ns = cut_ns;
    }
    int64_t transfer_ns = search->job->instances[instance].transfer_ns;
    if (transfer_ns == TIME_UNKNOWN)
        return 0;
    return most_ns < transfer_ns ? most_ns : transfer_ns;
}

static int measure(struct search *search, struct group *group, const struct findings *findings)
{
    const struct job *job = search->job;
    int64_t *cuts = array_new(job->instance_count + 1, sizeof *cuts);
    if (!cuts)
        return -1;
    int64_t with_ns = replay_run(&search->replay);
    group->slow_ns = group->late_ns = 0;
    group->waited_ns = group->usual_ns = group->network_steps = 0;
    for (size_t i = 0; i < job->instance_count; i++) {
        int32_t step = job->instances[i].step;
        if (step >= 0 && step < search->senders.steps && has_step(group, step))
            cuts[i] = cut_of(search, group, findings, i);
        if (cuts[i])
            replay_change_transfer(&search->replay, i, -cuts[i]);
    }
    group->gain_ns = with_ns - replay_run(&search->replay);
    for (size_t i = 0; i < job->instance_count; i++)
        if (cuts[i])
            replay_change_transfer(&search->replay, i, cuts[i]);
    free(cuts);
    return 0;
}

static int32_t counted(const struct group *group)
{
    return (group->steps.last - group->steps.first) / group->steps.period + 1;
}

static void ask(const struct findings *findings, struct finding *finding, const struct group *group,
                const struct search *search, const struct diagnose_options *options)
{
    const struct job *job = search->job;
    double worth = ratio_of(group->gain_ns, search->baseline->median_step_ns) / counted(group);
    worth = options->min_gain > 0 ? worth / options->min_gain : worth > 0 ? 2 : 0;
    finding->confidence = CONFIDENCE_HIGH;
    finding_ask(findings, finding, RULE_CERTAINTY, group->certainty);
    finding_ask(findings, finding, RULE_CERTAINTY_SURE, group->certainty);
    finding_ask(findings, finding, RULE_WORTH, worth);
    finding_ask(findings, finding, RULE_WORTH_SURE, worth);
    finding_ask(findings, finding, RULE_IRREGULAR, search->baseline->regular);
    finding_ask(findings, finding, RULE_LATE_RECEIVERS,
                group->slow_ns ? ratio_of(group->late_ns, group->slow_ns) : NOT_ASKED);
    if (group->is_steady)
        finding_ask(findings, finding, RULE_STEADY, 1);
    finding_ask(findings, finding, RULE_DAMAGED_LINES, (double)job->damaged_lines);
    finding_ask(findings, finding, RULE_LOST_EVENTS, (double)job->lost_events);
    finding_ask(findings, finding, RULE_GAPS, job_gaps(job));
}

static int add_ranks(struct finding *finding, const struct group *group, size_t ranks)
{
    if (group->count < 2)
        return 0;
    finding->ranks = array_new(group->count, sizeof *finding->ranks);
    for (size_t rank = 0; finding->ranks && rank < ranks; rank++)
        if (group->has[rank])
            finding->ranks[finding->rank_count++] = (int32_t)rank;
    return finding->ranks ? 0 : -1;
}

static int add_peers(struct finding *finding, const struct group *group, const struct edges *edges)
{
    for (size_t i = 0; i < edges->count; i++)
        if (group->has[edges->items[i].sender] && has_step(group, edges->items[i].step) &&
            finding_add_peer(finding, edges->items[i].receiver))
            return -1;
    return 0;
}

static int fill(struct finding *finding, const struct group *group, const struct search *search)
{
    finding->kind = FINDING_NETWORK;
    finding->rank = group->first_rank;
    finding->first_step = group->steps.first;
    finding->last_step = group->steps.last;
    finding->period = group->steps.period;
    finding->certainty = group->certainty;
    finding->lost_ns = group->gain_ns > 0 ? group->gain_ns : 0;
    finding->slow_ns = group->slow_ns;
    double steps = group->network_steps > 0 ? group->network_steps : 1;
    return add_ranks(finding, group, search->job->rank_count) || add_peers(finding, group, search->edges) ||
           buffer_printf(&finding->evidence, "%s network steps waited %.0f us each (SendWait), %s %.0f us",
                         group->count > 1 ? "their" : "its", group->waited_ns / steps / 1e3,
                         group->is_steady ? "those of other senders" : "usually",
                         group->usual_ns / steps / 1e3);
}

/* Whether a finding of one of its networks has most of the steps of either. */
static int is_in(const struct finding *finding, const struct group *group)
{
    int32_t shared = 0, steps = finding->last_step - finding->first_step + 1;
    if (finding->kind != FINDING_NETWORK || finding->certainty > 0 || finding->first_step < 0 ||
        !group->has[finding->rank])
        return 0;
    for (int32_t step = finding->first_step; step <= finding->last_step; step++)
        shared += has_step(group, step);
    return shared * 2 > (steps < counted(group) ? steps : counted(group));
}

/* Of one rank in a row of steps, one that is believed already says more. */
static int is_told(const struct findings *findings, const struct group *group)
{
    for (size_t i = 0; i < findings->count && group->count < 2 && !group->is_steady; i++)
        if (findings->items[i].confidence > CONFIDENCE_LOW && is_in(&findings->items[i], group))
            return 1;
    return 0;
}

static int take(struct findings *findings, struct search *search, struct group *group,
                const struct diagnose_options *options)
{
    if (is_told(findings, group))
        return 0;
    if (measure(search, group, findings))
        return -1;
    struct finding *finding = findings_add(findings);
    if (!finding || fill(finding, group, search))
        return -1;
    ask(findings, finding, group, search, options);
    if (finding->confidence == CONFIDENCE_LOW) {
        findings_remove(findings, findings->count - 1);
        return 0;
    }
    for (size_t i = findings->count; i-- > 0;)
        if (is_in(&findings->items[i], group))
            findings_remove(findings, i);
    return 0;
}

/* One after the other, the most certain first; each rank once. */
static int take_all(struct findings *findings, struct search *search, struct group *group,
                    const struct diagnose_options *options)
{
    for (;;) {
        if (find_best(search, group))
            return -1;
        if (group->certainty < limit_of(LIMIT_CERTAINTY))
            return 0;
        int32_t best = group->first_rank;
        if (gather(search, group))
            return -1;
        /*
         * One that is slow in all steps may have the longer way; and most of the senders, slow at once, have
         * no others to be held against.
         */
        if (group->count > (group->is_steady ? 1 : 0) && group->certainty >= limit_of(LIMIT_CERTAINTY_SURE) &&
            group->count * 2 <= search->senders.count && take(findings, search, group, options))
            return -1;
        search->told[best] = 1;
        for (size_t rank = 0; rank < search->job->rank_count; rank++)
            search->told[rank] |= group->has[rank];
    }
}

int findings_take_senders(struct findings *findings, const struct job *job, const struct baseline *baseline,
                          const struct edges *edges, const struct transfer_excess *transfers,
                          const struct diagnose_options *options, struct error *error)
{
    struct search search = {.job = job, .baseline = baseline, .edges = edges};
    struct group group = {0};
    if (!edges->count || !job->timed_operations || job->finished_only || job->step_count < 1)
        return 0;
    if (replay_init(&search.replay, job, baseline->excess, transfers, error))
        return -1;
    search.told = array_new(job->rank_count, sizeof *search.told);
    group.has = array_new(job->rank_count, sizeof *group.has);
    int failed = !search.told || !group.has || partitions_init(&search.partitions, job, edges) ||
                 senders_init(&search.senders, job, baseline, edges) ||
                 take_all(findings, &search, &group, options);
    senders_release(&search.senders);
    partitions_release(&search.partitions);
    replay_release(&search.replay);
    free(search.told);
    free(group.has);
    return failed ? error_no_memory(error) : 0;
}

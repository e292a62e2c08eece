#include "score/explain_cost.h"

#include "base/array.h"
#include "base/scale.h"
#include "job/arrival.h"

#include <stdlib.h>
#include <string.h>

/* A larger unit is taken where without it the job gains this part of what it would gain at most, or more. */
static const double WIDER_PART = 0.8;

void explaining_mark(struct explaining *it, const struct explanation *explanation)
{
    for (int32_t step = 0; step < it->source.baseline->step_count; step++)
        it->marked[step] = (unsigned char)explanation_has_step(explanation, step);
}

int explaining_replay(struct explaining *it)
{
    if (it->path)
        return 0;
    it->kept_ns = array_new(it->source.job->rank_count, sizeof *it->kept_ns);
    it->path = array_new(it->source.job->operation_count, sizeof *it->path);
    if (!it->kept_ns || !it->path)
        return -1;
    it->lasts_ns = replay_run(it->replay);
    explaining_settle(it);
    return 0;
}

void explaining_settle(struct explaining *it)
{
    it->path_length = replay_critical_path(it->replay, it->path);
    explaining_forget_kept(it);
}

int64_t explaining_least_gain(const struct explaining *it, const struct explanation *fault)
{
    const struct belief *belief = it->belief;
    int64_t least_ns = belief->worth_ns < belief->least_ns ? belief->worth_ns : belief->least_ns;
    return least_ns * explanation_count(fault);
}

/* The most that a fault's own times can gain in the steps marked: what of them is on the critical path. */
static int64_t most_gain_of(const struct explaining *it, const struct explanation *fault)
{
    int64_t most_ns = 0;
    for (size_t i = 0; i < it->path_length; i++) {
        const struct job_operation *operation = &it->source.job->operations[it->path[i]];
        if (explanation_has_rank(fault, operation->rank) && operation->step >= 0 &&
            operation->step < it->source.baseline->step_count && it->marked[operation->step])
            most_ns += it->replay->own_ns[it->path[i]];
    }
    return it->path_length ? most_ns : INT64_MAX;
}

/* In the steps marked. */
static struct fault fault_of(const struct explaining *it, const struct explanation *explanation)
{
    const struct partitions *partitions = &it->found->partitions;
    size_t number = (size_t)(explanation->partition - partitions->items);
    return (struct fault){.partition = explanation->partition,
                          .unit = explanation->unit,
                          .panels = &it->panels[number],
                          .apart = partitions->count,
                          .steps = it->marked,
                          .is_steady = explanation->is_steady,
                          .most_part = explanation->most_part};
}

static void shorten(void *context, int32_t operation, int64_t fault_ns)
{
    struct replay *replay = context;
    int64_t *own_ns = &replay->own_ns[operation];
    *own_ns = *own_ns > fault_ns ? *own_ns - fault_ns : 0;
}

/* Keeps the own times of the ranks of a unit, unless they are kept. -1 when memory is out. */
static int keep(struct explaining *it, const struct explanation *explanation)
{
    const struct partition *partition = explanation->partition;
    for (size_t i = partition->first[explanation->unit]; i < partition->first[explanation->unit + 1]; i++) {
        const struct job_rank *rank = &it->source.job->ranks[partition->ranks[i]];
        int64_t **kept_ns = &it->kept_ns[partition->ranks[i]];
        if (*kept_ns)
            continue;
        *kept_ns = array_new(rank->count, sizeof **kept_ns);
        if (!*kept_ns)
            return -1;
        memcpy(*kept_ns, &it->replay->own_ns[rank->first], rank->count * sizeof **kept_ns);
    }
    return 0;
}

static int take_out(struct explaining *it, const struct explanation *explanation)
{
    if (keep(it, explanation))
        return -1;
    explaining_mark(it, explanation);
    const struct fault fault = fault_of(it, explanation);
    return fault_each(&fault, &it->source, shorten, it->replay);
}

int explaining_take_out(struct explaining *it, struct explanation *explanation)
{
    if (take_out(it, explanation))
        return -1;
    explanation->gain_ns = it->lasts_ns - replay_run(it->replay);
    return 0;
}

/* The member of a unit that was slow by most in the steps of a fault. */
static int32_t slowest_of(const struct explaining *it, const struct explanation *fault)
{
    const struct partition *partition = fault->partition;
    size_t steps = (size_t)it->source.baseline->step_count;
    int64_t most_ns = INT64_MIN;
    int32_t slowest = partition->ranks[partition->first[fault->unit]];
    for (size_t i = partition->first[fault->unit]; i < partition->first[fault->unit + 1]; i++) {
        int32_t rank = partition->ranks[i], role = it->source.baseline->role_of_rank[rank];
        const struct panel *panel = role >= 0 ? explaining_panel(it, (size_t)role, 0) : NULL;
        int32_t at = panel && panel->units > 1 ? it->source.baseline->rank_in_role[rank] : -1;
        int64_t slow_ns = at >= 0 && fault->is_steady ? panel->level[at].apart_ns : 0;
        for (size_t step = 0; at >= 0 && !fault->is_steady && step < steps; step++)
            if (it->marked[step] && panel->beyond[(size_t)at * steps + step] != TIME_UNKNOWN)
                slow_ns += panel->beyond[(size_t)at * steps + step];
        if (at >= 0 && slow_ns > most_ns) {
            most_ns = slow_ns;
            slowest = rank;
        }
    }
    return slowest;
}

void explaining_measure(struct explaining *it, struct explanation *explanation)
{
    explanation->slow_ns = explanation->more_ns = explanation->host_ns = 0;
    explaining_mark(it, explanation);
    size_t number = (size_t)(explanation->partition - it->found->partitions.items), roles = 0;
    size_t steps = (size_t)it->source.baseline->step_count;
    explanation->counted = explanation_count(explanation);
    explanation->rank = slowest_of(it, explanation);
    for (size_t role = 0; role < it->source.baseline->role_count; role++) {
        const struct panel *panel = explaining_panel(it, role, number);
        int32_t at = panel->units > 1 ? panel_unit(panel, explanation->unit) : -1;
        if (at < 0)
            continue;
        roles++;
        if (explanation->is_steady) {
            explanation->slow_ns += panel->level[at].apart_ns * explanation->counted;
            explanation->more_ns += panel->level[at].more_ns * explanation->counted;
            explanation->host_ns += panel->level[at].host_ns * explanation->counted;
        }
        for (size_t step = 0; !explanation->is_steady && step < steps; step++)
            if (it->marked[step] && panel->beyond[(size_t)at * steps + step] != TIME_UNKNOWN) {
                explanation->slow_ns += panel->beyond[(size_t)at * steps + step];
                explanation->more_ns += panel->more[(size_t)at * steps + step];
                explanation->host_ns += panel->host[(size_t)at * steps + step];
            }
    }
    explanation->slow_ns /= (int64_t)(roles ? roles : 1);
    explanation->more_ns /= (int64_t)(roles ? roles : 1);
    explanation->host_ns /= (int64_t)(roles ? roles : 1);
}

static void put_back(struct explaining *it, const struct explanation *taken)
{
    const struct partition *partition = taken->partition;
    for (size_t i = partition->first[taken->unit]; i < partition->first[taken->unit + 1]; i++) {
        const struct job_rank *rank = &it->source.job->ranks[partition->ranks[i]];
        const int64_t *kept_ns = it->kept_ns[partition->ranks[i]];
        if (kept_ns)
            memcpy(&it->replay->own_ns[rank->first], kept_ns, rank->count * sizeof *kept_ns);
    }
}

/*
 * The same fault at each unit that the slowest rank is in; with a gain of INT64_MIN where it is not certain.
 * Returns whether any may gain enough; -1 when memory is out.
 */
static int try_units(struct explaining *it, struct explanation *fault, struct explanation *tried)
{
    int64_t most_ns = 0;
    explaining_mark(it, fault);
    int32_t rank = slowest_of(it, fault);
    for (size_t i = 0; i < it->found->partitions.count; i++) {
        tried[i] = *fault;
        if (explaining_move(it, i, (size_t)it->found->partitions.items[i].unit_of[rank], &tried[i]))
            return -1;
        int is_tried = tried[i].certainty > it->belief->certainty || tried[i].partition == fault->partition;
        int64_t gain_ns = is_tried ? most_gain_of(it, &tried[i]) : 0;
        tried[i].gain_ns = is_tried ? 0 : INT64_MIN;
        most_ns = gain_ns > most_ns ? gain_ns : most_ns;
    }
    fault->gain_ns = 0;
    return most_ns >= explaining_least_gain(it, fault);
}

/* The most that what has been taken out and is to be put back can gain. */
static int64_t most_gain_taken(const struct explaining *it)
{
    const struct job *job = it->source.job;
    int64_t most_ns = 0;
    for (size_t i = 0; i < it->path_length; i++) {
        int32_t at = it->path[i], rank = job->operations[at].rank;
        if (it->kept_ns[rank])
            most_ns += it->kept_ns[rank][(size_t)at - job->ranks[rank].first] - it->replay->own_ns[at];
    }
    return it->path_length ? most_ns : INT64_MAX;
}

/*
 * What a unit gains, INT64_MIN where that cannot matter: it is far less than what another one gains (most_ns)
 * or than what counts.
 */
static int try_unit(struct explaining *it, struct explanation *tried, int64_t most_ns)
{
    int64_t least_ns = explaining_least_gain(it, tried);
    if (take_out(it, tried))
        return -1;
    tried->gain_ns = INT64_MIN;
    if ((double)most_gain_taken(it) >= WIDER_PART * (double)(most_ns > least_ns ? most_ns : least_ns))
        tried->gain_ns = it->lasts_ns - replay_run(it->replay);
    put_back(it, tried);
    return 0;
}

int explaining_fit(struct explaining *it, struct explanation *fault)
{
    struct explanation tried[MOST_PARTITIONS] = {{.partition = NULL}};
    size_t count = it->found->partitions.count;
    int64_t most_ns = INT64_MIN;
    int may_gain = try_units(it, fault, tried);
    if (may_gain <= 0)
        return may_gain;
    for (size_t i = 0; i < count; i++) {
        if (tried[i].gain_ns == INT64_MIN)
            continue;
        if (try_unit(it, &tried[i], most_ns))
            return -1;
        most_ns = tried[i].gain_ns > most_ns ? tried[i].gain_ns : most_ns;
    }
    size_t best = count;
    for (size_t i = 0; i < count; i++)
        if (tried[i].gain_ns != INT64_MIN && (double)tried[i].gain_ns >= WIDER_PART * (double)most_ns &&
            (best == count || unit_size(tried[i].partition, tried[i].unit) >
                                  unit_size(tried[best].partition, tried[best].unit)))
            best = i;
    if (best < count)
        *fault = tried[best];
    return 0;
}

/*
 * By how much a member came after the last but one; 0 where no other member tells, and where that cannot be
 * read what it was late by.
 */
static int64_t margin_of(const struct job *job, int32_t operation, int64_t late_ns)
{
    const struct job_instance *instance = &job->instances[job->operations[operation].instance];
    int64_t mine_ns = arrival_stay_ns(job, operation), nearest_ns = INT64_MAX;
    if (!arrival_is_told(instance, job->operations[operation].function))
        return 0;
    if (mine_ns == TIME_UNKNOWN || job->operations[operation].function == FUNCTION_SEND)
        return late_ns;
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t other = job_member_at(job, instance, i);
        int64_t stay_ns = arrival_stay_ns(job, other);
        if (stay_ns == TIME_UNKNOWN)
            return late_ns;
        if (other != operation && stay_ns - mine_ns < nearest_ns)
            nearest_ns = stay_ns - mine_ns;
    }
    return nearest_ns < 0 || nearest_ns == INT64_MAX ? 0 : nearest_ns < late_ns ? nearest_ns : late_ns;
}

/* What a fault takes from the phases of a job, and from the places of one rank. */
struct tally {
    const struct explaining *it;
    int64_t margin_ns;
    int32_t rank;
    int64_t *by_tag;      /* [tag + 1] */
    int64_t *by_position; /* of its role */
};

static void count_fault(void *context, int32_t operation, int64_t fault_ns)
{
    struct tally *tally = context;
    const struct job_operation *at = &tally->it->source.job->operations[operation];
    tally->by_tag[at->tag + 1] += fault_ns;
    if (fault_ns > 0)
        tally->margin_ns += margin_of(tally->it->source.job, operation, fault_ns);
    if (at->rank == tally->rank)
        tally->by_position[tally->it->source.baseline->positions[operation]] += fault_ns;
}

static int32_t greatest_of(const int64_t *values, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        if (values[i] > values[best])
            best = i;
    return count && values[best] > 0 ? (int32_t)best : -1;
}

int explaining_locate(struct explaining *it, struct explanation *fault)
{
    const struct job *job = it->source.job;
    const struct fault at = fault_of(it, fault);
    int32_t role = it->source.baseline->role_of_rank[fault->rank];
    size_t positions = role >= 0 ? (size_t)it->source.baseline->roles[role].length : 0;
    struct tally tally = {it, 0, fault->rank, array_new(job->tags.count + 1, sizeof *tally.by_tag),
                          array_new(positions + 1, sizeof *tally.by_position)};
    int failed = !tally.by_tag || !tally.by_position || fault_each(&at, &it->source, count_fault, &tally);
    if (!failed) {
        int32_t tag = greatest_of(tally.by_tag, job->tags.count + 1);
        fault->tag = tag > 0 ? tag - 1 : -1;
        fault->position = greatest_of(tally.by_position, positions);
        fault->margin_ns = tally.margin_ns;
    }
    free(tally.by_tag);
    free(tally.by_position);
    return failed ? -1 : 0;
}

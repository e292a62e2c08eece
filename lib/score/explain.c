#include "score/explain.h"

#include "base/array.h"
#include "base/scale.h"
#include "base/statistics.h"
#include "delay/replay.h"
#include "job/arrival.h"
#include "score/panel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Student's t with two degrees of freedom holds own time: the tails of recorded healthy jobs fall with the
 * square of the excess, as Hill's estimate has them.
 */
static const double TAIL_OWN = 2;

/* Noise of a step is at least this part of it: less is below what clocks and replays can tell. */
static const double LEAST_SIGMA = 0.002;
/* GPUs of a kind differ by this part of their own time and more (Sinha et al., SC 2022: up to 8 %): what they
 * spread by is at least that. */
static const double LEAST_LEVEL_SIGMA = 0.005;

/* Kinds of faults that a unit may have: own time of its hosts, of its GPUs, its network. */
static const double KINDS = 3;

/* What a unit of several ranks shows in three of four says as much as this many ranks alone. */
static const double SEVERAL_COUNT = 2;

/* A larger unit is taken where without it the job gains this part of what it would gain at most, or more. */
static const double WIDER_PART = 0.8;

/* So many others at least to hold a unit against that was always so; and units to deflate by. */
enum { OTHERS_TO_COMPARE = 3 };

/* Of so few others the middle distance says little: what the furthest one does is what they do. */
enum { FEW_OTHERS = 4 };

/* What is so through all steps is so in three of four of them, by this part at least. */
static const double THROUGHOUT = 0.5;

enum { MOST_EXPLANATIONS = 12, MOST_IDLE = 8 };

/* What was certain and gained nothing: it is not believed, and explains nothing. */
struct idle {
    const struct partition *partition;
    size_t unit;
    int32_t first;
    int32_t last;
};

struct explaining {
    struct explanations *found;
    const struct belief *belief;
    struct idle idle[MOST_IDLE];
    int idle_count;
    struct sheet_source source;
    unsigned char *explained; /* owned: [rank * steps + step] */
    int64_t *longest_stay_ns; /* owned */
    struct panel *panels;     /* owned: [role * partitions + partition] */
    int64_t *sigma_ns;        /* owned: likewise */
    unsigned char *dirty;     /* owned: [role] */
    double *row;              /* owned: scratch, [step] */
    int64_t *list;            /* owned: scratch, a cell each */
    unsigned char *marked;    /* owned: scratch, [step] */
    int64_t *kept_ns;         /* owned: own times of the replay, [operation] */
    struct replay replay;
    int has_replay;
    int64_t lasts_ns; /* of the replay, without what is explained */
};

int explanation_has_rank(const struct explanation *explanation, int32_t rank)
{
    return explanation->partition->unit_of[rank] == (int32_t)explanation->unit;
}

int explanation_has_step(const struct explanation *explanation, int32_t step)
{
    const struct step_set *steps = &explanation->steps;
    return step >= steps->first && step <= steps->last && (step - steps->first) % steps->period == 0;
}

void explanations_release(struct explanations *explanations)
{
    partitions_release(&explanations->partitions);
    free(explanations->items);
    *explanations = (struct explanations){0};
}

static int init(struct explaining *it, const struct job *job, const struct baseline *baseline,
                const struct transfer_excess *transfers)
{
    size_t steps = (size_t)baseline->step_count, roles = baseline->role_count;
    size_t panels = roles * it->found->partitions.count;
    it->explained = array_new(job->rank_count * steps + 1, 1);
    it->longest_stay_ns = longest_stays(job);
    it->panels = array_new(panels, sizeof *it->panels);
    it->sigma_ns = array_new(panels, sizeof *it->sigma_ns);
    it->dirty = array_new(roles, 1);
    it->row = array_new(steps + 1, sizeof *it->row);
    it->list = array_new(job->rank_count * steps + 1, sizeof *it->list);
    it->marked = array_new(steps + 1, 1);
    if (!it->explained || !it->longest_stay_ns || !it->panels || !it->sigma_ns || !it->dirty || !it->row ||
        !it->list || !it->marked)
        return -1;
    memset(it->dirty, 1, roles);
    it->source = (struct sheet_source){job, baseline, transfers, it->explained, it->longest_stay_ns};
    return 0;
}

static void release(struct explaining *it)
{
    size_t panels = it->panels ? it->source.baseline->role_count * it->found->partitions.count : 0;
    for (size_t i = 0; i < panels; i++)
        panel_release(&it->panels[i]);
    if (it->has_replay)
        replay_release(&it->replay);
    free(it->explained);
    free(it->longest_stay_ns);
    free(it->panels);
    free(it->sigma_ns);
    free(it->dirty);
    free(it->row);
    free(it->list);
    free(it->marked);
    free(it->kept_ns);
}

static struct panel *panel_at(const struct explaining *it, size_t role, size_t partition)
{
    return &it->panels[role * it->found->partitions.count + partition];
}

/* Whether any rank of a unit is explained in a step. */
static int is_explained(const struct explaining *it, const struct partition *partition, size_t unit,
                        size_t step)
{
    for (size_t i = partition->first[unit]; i < partition->first[unit + 1]; i++)
        if (it->explained[(size_t)partition->ranks[i] * (size_t)it->source.baseline->step_count + step])
            return 1;
    return 0;
}

/* The spread of a panel's residuals about their middle, without what is explained. */
static int64_t sigma_of(struct explaining *it, const struct panel *panel, const struct partition *partition)
{
    const struct baseline *baseline = it->source.baseline;
    size_t steps = (size_t)baseline->step_count, count = 0;
    for (size_t unit = 0; unit < panel->units; unit++)
        for (size_t step = (size_t)baseline->first_step; step < steps; step++)
            if (panel->beyond[unit * steps + step] != TIME_UNKNOWN &&
                !is_explained(it, partition, (size_t)panel->unit[unit], step))
                it->list[count++] = panel->beyond[unit * steps + step];
    int64_t middle = count ? median_of(it->list, count) : 0;
    int64_t sigma = count ? sigma_about(it->list, count, middle) : 0;
    int64_t least = scale(baseline->median_step_ns, LEAST_SIGMA);
    return sigma > least ? sigma : least > 0 ? least : 1;
}

static int measure_panels(struct explaining *it)
{
    const struct partitions *partitions = &it->found->partitions;
    for (size_t role = 0; role < it->source.baseline->role_count; role++) {
        if (!it->dirty[role])
            continue;
        for (size_t i = 0; i < partitions->count; i++)
            panel_release(panel_at(it, role, i));
        if (panels_init(panel_at(it, role, 0), &it->source, partitions, role))
            return -1;
        for (size_t i = 0; i < partitions->count; i++)
            it->sigma_ns[role * partitions->count + i] =
                sigma_of(it, panel_at(it, role, i), &partitions->items[i]);
        it->dirty[role] = 0;
    }
    return 0;
}

/* The number of a unit in a panel; -1. */
static int32_t unit_in(const struct panel *panel, size_t unit)
{
    for (size_t i = 0; i < panel->units; i++)
        if (panel->unit[i] == (int32_t)unit)
            return (int32_t)i;
    return -1;
}

/* The residuals of a unit in sigma, mean over the roles that its ranks play. Returns whether there are any.
 */
static int fill_row(struct explaining *it, size_t number, size_t unit)
{
    const struct baseline *baseline = it->source.baseline;
    const struct partition *partition = &it->found->partitions.items[number];
    size_t roles = 0, steps = (size_t)baseline->step_count;
    for (size_t step = 0; step < steps; step++)
        it->row[step] = 0;
    for (size_t role = 0; role < baseline->role_count; role++) {
        const struct panel *panel = panel_at(it, role, number);
        int32_t at = panel->units > 1 ? unit_in(panel, unit) : -1;
        if (at < 0)
            continue;
        roles++;
        double sigma = (double)it->sigma_ns[role * it->found->partitions.count + number];
        for (size_t step = 0; step < steps; step++)
            it->row[step] += panel->beyond[(size_t)at * steps + step] == TIME_UNKNOWN
                                 ? NAN
                                 : (double)panel->beyond[(size_t)at * steps + step] / sigma;
    }
    for (size_t step = 0; step < steps; step++)
        it->row[step] = step < (size_t)baseline->first_step || is_explained(it, partition, unit, step)
                            ? NAN
                            : it->row[step] / (double)(roles ? roles : 1);
    return roles > 0;
}

static int by_score(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/*
 * What the scores of a partition's units are deflated by: how many times what chance would give them the
 * middle one of the others has.
 */
static double deflation(const struct step_set *best, size_t units, size_t without, int32_t steps,
                        double *list)
{
    size_t count = 0;
    for (size_t unit = 0; unit < units; unit++)
        if (unit != without)
            list[count++] = best[unit].score;
    if (count < OTHERS_TO_COMPARE)
        return 1;
    qsort(list, count, sizeof *list, by_score);
    double times = list[(count - 1) / 2] / scan_expected(steps);
    return times > 1 ? times : 1;
}

static int is_idle(const struct explaining *it, const struct explanation *proposal)
{
    for (int i = 0; i < it->idle_count; i++)
        if (it->idle[i].partition == proposal->partition && it->idle[i].unit == proposal->unit &&
            it->idle[i].first <= proposal->steps.last && it->idle[i].last >= proposal->steps.first)
            return 1;
    return 0;
}

static void propose(const struct explaining *it, const struct explanation *proposal, struct explanation *best)
{
    if (proposal->certainty > best->certainty && !is_idle(it, proposal))
        *best = *proposal;
}

static double unit_count(const struct explaining *it)
{
    double units = 0;
    for (size_t i = 0; i < it->found->partitions.count; i++)
        units += (double)it->found->partitions.items[i].count;
    return units;
}

static double weight_of(const struct partition *partition, size_t unit)
{
    return unit_size(partition, unit) > 1 ? SEVERAL_COUNT : 1;
}

static int propose_sets(struct explaining *it, size_t number, struct explanation *proposal)
{
    const struct baseline *baseline = it->source.baseline;
    const struct partition *partition = &it->found->partitions.items[number];
    int32_t steps = baseline->step_count - baseline->first_step;
    struct step_set *best = array_new(partition->count, sizeof *best);
    double *list = array_new(partition->count, sizeof *list);
    int failed = !best || !list;
    for (size_t unit = 0; !failed && unit < partition->count; unit++)
        if (fill_row(it, number, unit))
            failed = scan_row(it->row, baseline->step_count, TAIL_OWN, &best[unit]);
    for (size_t unit = 0; !failed && unit < partition->count; unit++) {
        struct explanation next = {.partition = partition, .unit = unit, .steps = best[unit]};
        next.certainty = best[unit].score * weight_of(partition, unit) /
                             deflation(best, partition->count, unit, steps, list) -
                         scan_sets(steps) - log(unit_count(it) * KINDS);
        if (best[unit].score > 0)
            propose(it, &next, proposal);
    }
    free(best);
    free(list);
    return failed ? -1 : 0;
}

/* Whether a unit has been explained in most steps: it is no measure of others. */
static int is_mostly_explained(const struct explaining *it, const struct partition *partition, size_t unit)
{
    size_t steps = (size_t)it->source.baseline->step_count, count = 0;
    for (size_t step = 0; step < steps; step++)
        count += is_explained(it, partition, unit, step) != 0;
    return count * 2 > steps;
}

/*
 * What the usual distances of units spread by that are none of `unit` (of `partition`), and not explained;
 * and their middle. Returns how many.
 */
static size_t spread_of_levels(struct explaining *it, const struct panel *panel,
                               const struct partition *of_panel, const struct partition *partition,
                               size_t unit, int64_t *middle, int64_t *spread)
{
    size_t count = 0;
    for (size_t i = 0; i < panel->units; i++) {
        size_t other = (size_t)panel->unit[i];
        if (partition->unit_of[of_panel->ranks[of_panel->first[other]]] != (int32_t)unit &&
            !is_mostly_explained(it, of_panel, other))
            it->list[count++] = panel->level[i].apart_ns;
    }
    *middle = count ? median_of(it->list, count) : 0;
    int64_t furthest_ns = count ? it->list[count - 1] - *middle : 0;
    *spread = count ? sigma_about(it->list, count, *middle) : 0;
    if (count <= FEW_OTHERS && furthest_ns > *spread)
        *spread = furthest_ns;
    return count;
}

/*
 * The usual distance of a unit from the others of its role, in what those spread by, and by what their ranks
 * do: where there are two hosts, the ranks of the other tell.
 */
static double level_sigmas(struct explaining *it, size_t role, size_t number, size_t at)
{
    const struct partition *partitions = it->found->partitions.items, *partition = &partitions[number];
    const struct panel *panel = panel_at(it, role, number), *ranks = panel_at(it, role, 0);
    const struct level *level = &panel->level[at];
    size_t unit = (size_t)panel->unit[at];
    int64_t middle, spread, of_ranks, ignored;
    if (spread_of_levels(it, ranks, &partitions[0], partition, unit, &ignored, &of_ranks) <
            OTHERS_TO_COMPARE ||
        !spread_of_levels(it, panel, partition, partition, unit, &middle, &spread))
        return 0;
    double steps = it->source.baseline->step_count > 1 ? it->source.baseline->step_count : 1;
    int64_t of_noise = scale(it->sigma_ns[role * it->found->partitions.count + number], 1 / sqrt(steps));
    int64_t of_level = scale(level->others_ns, LEAST_LEVEL_SIGMA);
    spread = spread > of_ranks ? spread : of_ranks;
    spread = spread > of_level ? spread : of_level;
    spread = spread > of_noise ? spread : of_noise;
#ifdef DEBUG_IDLE
    if (panel == ranks && getenv("LEVELS"))
        fprintf(stderr,
                "   level unit %zu apart %.0f quiet %.0f more %.0f others %.0f slower %.2f middle %.0f "
                "spread %.0f (ranks %.0f level %.0f noise %.0f) us\n",
                unit, level->apart_ns / 1e3, level->quiet_ns / 1e3, level->more_ns / 1e3,
                level->others_ns / 1e3, (double)level->slower_ns / level->others_ns, middle / 1e3,
                spread / 1e3, of_ranks / 1e3, of_level / 1e3, of_noise / 1e3);
#endif
    if (level->apart_ns <= 0 || (double)level->quiet_ns < THROUGHOUT * (double)level->apart_ns)
        return 0;
    return (double)(level->apart_ns - middle) / (double)(spread > 0 ? spread : 1);
}

/*
 * What a slow clock stretches by one factor it is too long by one part of. The factor shows at the longest
 * place: who waits for the slow one elsewhere computes meanwhile, and shows less own time than that takes.
 */
static double most_part_of(const struct level *level)
{
    double whole = (double)level->widest_ns + (double)level->widest_more_ns;
    if (level->host_ns * 2 > level->more_ns || whole <= 0 || level->widest_more_ns <= 0)
        return 1;
    return (double)level->widest_more_ns / whole;
}

static void propose_steady(struct explaining *it, size_t number, size_t unit, struct explanation *proposal)
{
    const struct baseline *baseline = it->source.baseline;
    const struct partition *partition = &it->found->partitions.items[number];
    for (size_t role = 0; role < baseline->role_count; role++) {
        const struct panel *panel = panel_at(it, role, number);
        int32_t at = panel->units > 1 ? unit_in(panel, unit) : -1;
        if (at < 0 || is_mostly_explained(it, partition, unit))
            continue;
        const struct level *level = &panel->level[at];
        double sigmas = level_sigmas(it, role, number, (size_t)at);
        if (sigmas <= 0)
            continue;
        struct explanation next = {
            .partition = partition,
            .unit = unit,
            .is_steady = 1,
            .steps = {.first = baseline->first_step, .last = baseline->step_count - 1, .period = 1}};
        next.certainty = (TAIL_OWN + 1) / 2 * log1p(sigmas * sigmas / TAIL_OWN) * weight_of(partition, unit) -
                         log(unit_count(it) * KINDS);
        next.slower_part = level->others_ns > 0 ? (double)level->slower_ns / (double)level->others_ns : 1;
        next.most_part = most_part_of(level);
        propose(it, &next, proposal);
    }
}

static int32_t count_steps(const struct explanation *explanation)
{
    return (explanation->steps.last - explanation->steps.first) / explanation->steps.period + 1;
}

static void mark_steps(struct explaining *it, const struct explanation *explanation)
{
    for (int32_t step = 0; step < it->source.baseline->step_count; step++)
        it->marked[step] = (unsigned char)explanation_has_step(explanation, step);
}

static void shorten(void *context, int32_t operation, int64_t fault_ns)
{
    struct replay *replay = context;
    int64_t *own_ns = &replay->own_ns[operation];
    *own_ns = *own_ns > fault_ns ? *own_ns - fault_ns : 0;
}

/* Takes it out of the replay, and says what that gains. */
static int take_out(struct explaining *it, struct explanation *explanation)
{
    const struct fault fault = {explanation->partition, explanation->unit, it->marked, explanation->is_steady,
                                explanation->most_part};
    mark_steps(it, explanation);
    if (fault_each(&fault, &it->source, shorten, &it->replay))
        return -1;
    explanation->gain_ns = it->lasts_ns - replay_run(&it->replay);
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
        const struct panel *panel = role >= 0 ? panel_at(it, (size_t)role, 0) : NULL;
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

/* What it amounts to, by the panels that it was found in. */
static void measure(struct explaining *it, struct explanation *explanation)
{
    explanation->slow_ns = explanation->more_ns = explanation->host_ns = 0;
    mark_steps(it, explanation);
    size_t number = (size_t)(explanation->partition - it->found->partitions.items), roles = 0;
    size_t steps = (size_t)it->source.baseline->step_count;
    explanation->counted = count_steps(explanation);
    explanation->rank = slowest_of(it, explanation);
    for (size_t role = 0; role < it->source.baseline->role_count; role++) {
        const struct panel *panel = panel_at(it, role, number);
        int32_t at = panel->units > 1 ? unit_in(panel, explanation->unit) : -1;
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
    explanation->host_ns /= (int64_t)(roles ? roles : 1);
}

static void mark_explained(struct explaining *it, const struct explanation *explanation)
{
    const struct partition *partition = explanation->partition;
    size_t steps = (size_t)it->source.baseline->step_count;
    for (size_t i = partition->first[explanation->unit]; i < partition->first[explanation->unit + 1]; i++) {
        int32_t rank = partition->ranks[i], role = it->source.baseline->role_of_rank[rank];
        for (size_t step = 0; step < steps; step++)
            it->explained[(size_t)rank * steps + step] |= it->marked[step];
        if (role >= 0)
            it->dirty[role] = 1;
    }
}

/* The same fault at another unit, with the certainty that it has there. */
static void move_to(struct explaining *it, size_t number, size_t unit, struct explanation *fault)
{
    int32_t steps = it->source.baseline->step_count - it->source.baseline->first_step;
    const struct partition *partition = &it->found->partitions.items[number];
    struct explanation steady = {.certainty = 0};
    fault->partition = partition;
    fault->unit = unit;
    if (fault->is_steady) {
        propose_steady(it, number, unit, &steady);
        steady.partition = partition;
        steady.unit = unit;
        steady.is_steady = 1;
        steady.steps = fault->steps;
        *fault = steady;
    } else if (fill_row(it, number, unit)) {
        scan_set(it->row, TAIL_OWN, &fault->steps);
        fault->certainty =
            fault->steps.score * weight_of(partition, unit) - scan_sets(steps) - log(unit_count(it) * KINDS);
    }
}

static void propose_all_steady(struct explaining *it, size_t number, struct explanation *best)
{
    for (size_t unit = 0; unit < it->found->partitions.items[number].count; unit++)
        propose_steady(it, number, unit, best);
}

/*
 * The most certain one that is left: of what goes through all steps first, as that is what noise in some of
 * them is about. Returns 1 if there is one, 0, or -1 when memory is out.
 */
static int best_of(struct explaining *it, struct explanation *best)
{
    *best = (struct explanation){.certainty = it->belief->certainty};
    if (measure_panels(it))
        return -1;
    for (size_t i = 0; i < it->found->partitions.count; i++)
        propose_all_steady(it, i, best);
    for (size_t i = 0; !best->partition && i < it->found->partitions.count; i++)
        if (propose_sets(it, i, best))
            return -1;
    return best->partition != NULL;
}

static int prepare_replay(struct explaining *it, const struct transfer_excess *transfers, struct error *error)
{
    if (it->has_replay)
        return 0;
    if (replay_init(&it->replay, it->source.job, it->source.baseline->excess, transfers, error))
        return -1;
    it->has_replay = 1;
    if (!(it->kept_ns = array_new(it->source.job->operation_count, sizeof *it->kept_ns)))
        return error_no_memory(error);
    it->lasts_ns = replay_run(&it->replay);
    return 0;
}

static void keep(struct explaining *it)
{
    memcpy(it->kept_ns, it->replay.own_ns, it->source.job->operation_count * sizeof *it->kept_ns);
}

static void put_back(struct explaining *it)
{
    memcpy(it->replay.own_ns, it->kept_ns, it->source.job->operation_count * sizeof *it->kept_ns);
}

/*
 * Which of the units that the slowest rank is in the fault is of: the largest of those that are certain
 * without which the job gains nearly as much as without any of them. A rank of a slow host gains nothing by
 * itself, and what the ranks have in common with one that is slow alone gains little. -1 when memory is out.
 */
static int fit_unit(struct explaining *it, struct explanation *fault)
{
    struct explanation tried[MOST_PARTITIONS];
    size_t count = it->found->partitions.count;
    int64_t most_ns = INT64_MIN;
    mark_steps(it, fault);
    int32_t rank = slowest_of(it, fault);
    keep(it);
    for (size_t i = 0; i < count; i++) {
        tried[i] = *fault;
        move_to(it, i, (size_t)it->found->partitions.items[i].unit_of[rank], &tried[i]);
        tried[i].gain_ns = INT64_MIN;
        if (tried[i].certainty <= it->belief->certainty && tried[i].partition != fault->partition)
            continue;
        if (take_out(it, &tried[i]))
            return -1;
        put_back(it);
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

/* Where it was: the phase and the place at which most of it is. */
static int locate(struct explaining *it, struct explanation *fault)
{
    const struct job *job = it->source.job;
    const struct fault at = {fault->partition, fault->unit, it->marked, fault->is_steady, fault->most_part};
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

static int believe(struct explaining *it, const struct explanation *explanation)
{
    if (array_reserve((void **)&it->found->items, &it->found->capacity, it->found->count + 1,
                      sizeof *explanation))
        return -1;
    struct explanation *found = &it->found->items[it->found->count];
    *found = *explanation;
    if (take_out(it, found))
        return -1;
    it->found->count++;
    it->lasts_ns -= found->gain_ns;
    mark_explained(it, found);
    return 0;
}

/* Whether its hosts are to blame: most of it comes before operations that were enqueued late. */
int explanation_is_hosts(const struct explanation *explanation)
{
    return explanation->host_ns * 2 > explanation->more_ns;
}

/*
 * A GPU that is surely slow for a while, or what recurs, may be worth what its partners lost, as long as it
 * gains anything: of two branches that are slow at once neither gains alone, and waiting that no operation
 * shows stays in the replay. Hosts have moments together: one that is latest of late ones is none.
 */
int explanation_counts_partners(const struct explanation *explanation)
{
    return !explanation->is_steady && unit_size(explanation->partition, explanation->unit) == 1 &&
           (explanation->steps.period > 1 || !explanation_is_hosts(explanation));
}

/* Whether it costs enough. */
static int is_worth(const struct explaining *it, const struct explanation *fault)
{
    const struct belief *belief = it->belief;
    if (fault->gain_ns >= belief->worth_ns * fault->counted)
        return 1;
    return explanation_counts_partners(fault) && fault->certainty >= belief->sure &&
           fault->margin_ns >= belief->worth_waited_ns * fault->counted &&
           fault->gain_ns >= belief->least_ns * fault->counted;
}

static void leave_idle(struct explaining *it, const struct explanation *proposal)
{
#ifdef DEBUG_IDLE
    struct explanation p = *proposal;
    mark_steps(it, &p);
    measure(it, &p);
    fprintf(stderr, "      idle ranks %d+%zu steps %d-%d/%d%s L %.1f gain %.2f slow %.2f\n",
            p.partition->ranks[p.partition->first[p.unit]], unit_size(p.partition, p.unit), p.steps.first,
            p.steps.last, p.steps.period, p.is_steady ? " STEADY" : "", p.certainty,
            100.0 * p.gain_ns / p.counted / it->source.baseline->median_step_ns,
            100.0 * p.slow_ns / p.counted / it->source.baseline->median_step_ns);
#endif
    it->idle[it->idle_count++] =
        (struct idle){proposal->partition, proposal->unit, proposal->steps.first, proposal->steps.last};
}

static int explain(struct explaining *it, const struct transfer_excess *transfers, struct error *error)
{
    struct explanation best;
    int found = 0;
    while (it->found->count < MOST_EXPLANATIONS && it->idle_count < MOST_IDLE &&
           (found = best_of(it, &best)) > 0) {
        struct explanation proposed = best;
        if (prepare_replay(it, transfers, error))
            return -1;
        if (fit_unit(it, &best))
            return error_no_memory(error);
        measure(it, &best);
        if (locate(it, &best))
            return error_no_memory(error);
        if (!is_worth(it, &best))
            leave_idle(it, &proposed);
        else if (believe(it, &best))
            return error_no_memory(error);
    }
    return found < 0 ? error_no_memory(error) : 0;
}

int explanations_find(struct explanations *explanations, const struct job *job,
                      const struct baseline *baseline, const struct edges *edges,
                      const struct transfer_excess *transfers, const struct belief *belief,
                      struct error *error)
{
    struct explaining it = {.found = explanations, .belief = belief};
    *explanations = (struct explanations){0};
    if (!job->timed_operations || !baseline_is_regular(baseline) || !baseline->median_step_ns)
        return 0;
    int failed = partitions_init(&explanations->partitions, job, edges) || init(&it, job, baseline, transfers)
                     ? error_no_memory(error)
                     : explain(&it, transfers, error);
    release(&it);
    return failed;
}

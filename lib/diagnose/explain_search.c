/*
 * Searches for the most certain hypothesis about which unit was slow in which steps, from the residuals of
 * what is not explained yet (residual_matrix.c, scan.c). explain.c runs the search.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/score.h"
#include "job/job.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Minimum for the noise of a step, as part of the step: smaller differences are below the resolution of
 * clocks and replays.
 */
static const double LEAST_SIGMA = 0.002;

/*
 * Minimum for the spread between GPUs, as part of own time: GPUs of the same model differ by at least this
 * much (Sinha et al., SC 2022: up to 8 %).
 */
static const double LEAST_LEVEL_SIGMA = 0.005;

/* Kinds of faults that a unit may have: own time of its hosts, own time of its GPUs, network. */
static const double KINDS = 3;

/* What three of four ranks of a unit show counts as much as this many ranks. */
static const double SEVERAL_COUNT = 2;

/*
 * Minimum number of other units, to compare a unit that was slow in all steps with.
 */
enum { OTHERS_TO_COMPARE = 3 };

/*
 * With at most this many others, the median distance is not reliable; the largest distance is used instead.
 */
enum { FEW_OTHERS = 4 };

/*
 * A unit counts as slow in all steps if it is slow by at least this part of the median in three of four
 * steps.
 */
static const double THROUGHOUT = 0.5;

int explanation_search_init(struct explanation_search *it, const struct job *job,
                            const struct baseline *baseline, const struct transfer_excess *transfers,
                            const unsigned char *explained)
{
    size_t steps = (size_t)baseline->step_count, roles = baseline->role_count;
    size_t residual_matrices = roles * it->found->partitions.count;
    it->explained = array_new(job->rank_count * steps + 1, 1);
    it->stays = measure_stays(job);
    it->growth = measure_growth(job, baseline);
    it->source = (struct place_matrix_source){job, baseline, transfers, it->explained, it->stays, it->growth};
    it->residual_matrices = array_new(residual_matrices, sizeof *it->residual_matrices);
    it->sigma_ns = array_new(residual_matrices, sizeof *it->sigma_ns);
    it->leads = array_new(roles * steps + 1, sizeof *it->leads);
    it->dirty = array_new(roles, 1);
    it->row = array_new(steps + 1, sizeof *it->row);
    it->by_role = array_new(roles + 1, sizeof *it->by_role);
    it->list = array_new(job->rank_count * steps + 1, sizeof *it->list);
    it->marked = array_new(steps + 1, 1);
    for (size_t i = 0; i < it->found->partitions.count; i++)
        if (!(it->mostly[i] = array_new(it->found->partitions.items[i].count, 1)))
            return -1;
    if (!it->explained || !it->stays || !it->growth || !it->residual_matrices || !it->sigma_ns ||
        !it->leads || !it->dirty || !it->row || !it->by_role || !it->list || !it->marked)
        return -1;
    memset(it->dirty, 1, roles);
    if (explained)
        memcpy(it->explained, explained, job->rank_count * steps);
    return 0;
}

static void forget_sets(struct explanation_search *it)
{
    free(it->rows);
    it->rows = NULL;
    for (size_t i = 0; i < MOST_PARTITIONS; i++) {
        free(it->sets[i]);
        it->sets[i] = NULL;
    }
}

void explanation_search_commit_removed(struct explanation_search *it)
{
    for (size_t rank = 0; it->kept_ns && rank < it->source.job->rank_count; rank++) {
        free(it->kept_ns[rank]);
        it->kept_ns[rank] = NULL;
    }
}

void explanation_search_release(struct explanation_search *it)
{
    size_t residual_matrices =
        it->residual_matrices ? it->source.baseline->role_count * it->found->partitions.count : 0;
    for (size_t i = 0; i < residual_matrices; i++)
        residual_matrix_release(&it->residual_matrices[i]);
    forget_sets(it);
    for (size_t i = 0; i < MOST_PARTITIONS; i++)
        free(it->mostly[i]);
    free(it->explained);
    free(it->stays);
    free(it->growth);
    free(it->residual_matrices);
    free(it->sigma_ns);
    free(it->leads);
    free(it->dirty);
    free(it->row);
    free(it->sampled);
    free(it->others);
    free(it->residuals);
    free(it->by_role);
    free(it->list);
    free(it->marked);
    explanation_search_commit_removed(it);
    free(it->kept_ns);
    free(it->path);
}

struct residual_matrix *explanation_search_residual_matrix(const struct explanation_search *it, size_t role,
                                                           size_t partition)
{
    return &it->residual_matrices[role * it->found->partitions.count + partition];
}

/* Whether any rank of a unit is explained in a step. */
static int is_explained(const struct explanation_search *it, const struct partition *partition, size_t unit,
                        size_t step)
{
    for (size_t i = partition->first[unit]; i < partition->first[unit + 1]; i++)
        if (it->explained[(size_t)partition->ranks[i] * (size_t)it->source.baseline->step_count + step])
            return 1;
    return 0;
}

/* The spread of residuals about their median, without explained cells. */
static int64_t sigma_of(struct explanation_search *it, const struct residual_matrix *residuals,
                        const struct partition *partition)
{
    const struct baseline *baseline = it->source.baseline;
    size_t steps = (size_t)baseline->step_count, count = 0;
    for (size_t unit = 0; unit < residuals->units; unit++)
        for (size_t step = (size_t)baseline->first_step; step < steps; step++)
            if (residuals->beyond[unit * steps + step] != TIME_UNKNOWN &&
                !is_explained(it, partition, (size_t)residuals->unit[unit], step))
                it->list[count++] = residuals->beyond[unit * steps + step];
    int64_t middle = count ? pick_quantile(it->list, count, 0.5) : 0;
    int64_t sigma = count ? sigma_about(it->list, count, middle) : 0;
    int64_t least = scale(baseline->median_step_ns, LEAST_SIGMA);
    return sigma > least ? sigma : least > 0 ? least : 1;
}

/* A unit that is explained in most steps is no reference for others. */
static void mark_mostly_explained(struct explanation_search *it, size_t number)
{
    const struct partition *partition = &it->found->partitions.items[number];
    size_t steps = (size_t)it->source.baseline->step_count;
    for (size_t unit = 0; unit < partition->count; unit++) {
        size_t count = 0;
        for (size_t step = 0; step < steps; step++)
            count += is_explained(it, partition, unit, step) != 0;
        it->mostly[number][unit] = count * 2 > steps;
    }
}

static void measure_step_leads(struct explanation_search *it, size_t role)
{
    const struct residual_matrix *residuals = explanation_search_residual_matrix(it, role, 0);
    size_t steps = (size_t)it->source.baseline->step_count;
    for (size_t step = 0; step < steps; step++) {
        struct step_leads leads = {.squares = 0};
        for (size_t unit = 0; unit < residuals->units; unit++) {
            int64_t lead_ns = residuals->lead[unit * steps + step];
            if (it->mostly[0][residuals->unit[unit]])
                continue;
            leads.squares += (double)lead_ns * (double)lead_ns;
            if (lead_ns > leads.greatest_ns) {
                leads.second_ns = leads.greatest_ns;
                leads.greatest_ns = lead_ns;
            } else if (lead_ns > leads.second_ns)
                leads.second_ns = lead_ns;
        }
        it->leads[role * steps + step] = leads;
    }
}

static int measure_residual_matrices(struct explanation_search *it)
{
    const struct partitions *partitions = &it->found->partitions;
    for (size_t i = 0; i < partitions->count; i++)
        mark_mostly_explained(it, i);
    for (size_t role = 0; role < it->source.baseline->role_count; role++) {
        if (!it->dirty[role])
            continue;
        for (size_t i = 0; i < partitions->count; i++)
            residual_matrix_release(explanation_search_residual_matrix(it, role, i));
        if (residual_matrices_init(explanation_search_residual_matrix(it, role, 0), &it->source, partitions,
                                   role))
            return -1;
        for (size_t i = 0; i < partitions->count; i++)
            it->sigma_ns[role * partitions->count + i] =
                sigma_of(it, explanation_search_residual_matrix(it, role, i), &partitions->items[i]);
        measure_step_leads(it, role);
        it->dirty[role] = 0;
        forget_sets(it);
    }
    return 0;
}

int32_t residual_matrix_unit(const struct residual_matrix *residuals, size_t unit)
{
    for (size_t i = 0; i < residuals->units; i++)
        if (residuals->unit[i] == (int32_t)unit)
            return (int32_t)i;
    return -1;
}

/*
 * Reads the residuals of a unit, in sigma, for each role of its ranks: [role * steps + step]. Returns the
 * number of roles; -1 when memory runs out.
 */
static int read_residuals(struct explanation_search *it, size_t number, size_t unit)
{
    size_t roles = 0, steps = (size_t)it->source.baseline->step_count;
    for (size_t role = 0; role < it->source.baseline->role_count; role++) {
        const struct residual_matrix *residuals = explanation_search_residual_matrix(it, role, number);
        int32_t at = residuals->is_compared ? residual_matrix_unit(residuals, unit) : -1;
        if (at < 0)
            continue;
        if (array_reserve((void **)&it->residuals, &it->residual_room, (roles + 1) * steps,
                          sizeof *it->residuals))
            return -1;
        double sigma = (double)it->sigma_ns[role * it->found->partitions.count + number];
        for (size_t step = 0; step < steps; step++) {
            int64_t beyond_ns = residuals->beyond[(size_t)at * steps + step];
            it->residuals[roles * steps + step] = beyond_ns == TIME_UNKNOWN ? NAN : (double)beyond_ns / sigma;
        }
        roles++;
    }
    return (int)roles;
}

/* The median over roles in a step, the lower of two: what one rank shows does not count for its unit. */
static double middle_residual(struct explanation_search *it, size_t roles, size_t step)
{
    size_t steps = (size_t)it->source.baseline->step_count;
    double *list = it->by_role;
    for (size_t role = 0; role < roles; role++) {
        list[role] = it->residuals[role * steps + step];
        if (isnan(list[role]))
            return NAN;
    }
    sort_reals(list, roles);
    return roles ? list[(roles - 1) / 2] : 0;
}

/* Fills in the residuals of a unit. Returns whether there are any; -1 when memory runs out. */
static int fill_row(struct explanation_search *it, size_t number, size_t unit)
{
    const struct baseline *baseline = it->source.baseline;
    const struct partition *partition = &it->found->partitions.items[number];
    int roles = read_residuals(it, number, unit);
    for (size_t step = 0; roles >= 0 && step < (size_t)baseline->step_count; step++)
        it->row[step] = step < (size_t)baseline->first_step || is_explained(it, partition, unit, step)
                            ? NAN
                            : middle_residual(it, (size_t)roles, step);
    return roles > 0 ? 1 : roles;
}

static int is_idle(const struct explanation_search *it, const struct explanation *proposal)
{
    for (int i = 0; i < it->idle_count; i++)
        if (it->idle[i].partition == proposal->partition && it->idle[i].unit == proposal->unit &&
            it->idle[i].first <= proposal->steps.last && it->idle[i].last >= proposal->steps.first)
            return 1;
    return 0;
}

/* Reads the residuals of single ranks, of all or of a sample that is spread over the job. */
static int sample_rows(struct explanation_search *it)
{
    size_t ranks = it->found->partitions.items[0].count, steps = (size_t)it->source.baseline->step_count;
    size_t stride = (ranks + MOST_SAMPLED - 1) / MOST_SAMPLED;
    if (it->rows)
        return 0;
    it->rows = array_new(MOST_SAMPLED * steps + 1, sizeof *it->rows);
    if (!it->sampled)
        it->sampled = array_new(MOST_SAMPLED, sizeof *it->sampled);
    if (!it->others)
        it->others = array_new(MOST_SAMPLED * steps * 2 + 1, sizeof *it->others);
    if (!it->sampled || !it->others || !it->rows)
        return -1;
    it->sampled_count = 0;
    for (size_t unit = 0; unit < ranks; unit += stride) {
        int is_filled = fill_row(it, 0, unit);
        if (is_filled < 0)
            return -1;
        if (!is_filled)
            continue;
        memcpy(it->rows + it->sampled_count * steps, it->row, steps * sizeof *it->row);
        it->sampled[it->sampled_count++] = (int32_t)unit;
    }
    return 0;
}

/*
 * What all rows have in common is how other ranks respond to a fault, and no noise. Removes it, and makes up
 * for the spread that is lost by it.
 */
static void remove_common(double *rows, size_t count, size_t steps)
{
    double restored = sqrt((double)count / (double)(count - 1));
    for (size_t step = 0; step < steps; step++) {
        double sum = 0;
        for (size_t i = 0; i < count; i++)
            sum += rows[i * steps + step];
        for (size_t i = 0; i < count; i++)
            rows[i * steps + step] = (rows[i * steps + step] - sum / (double)count) * restored;
    }
}

/* Whether a unit is compared with others of a role, and not with its own past alone. */
static int has_peers(const struct explanation_search *it, const struct partition *partition, size_t unit)
{
    size_t number = (size_t)(partition - it->found->partitions.items);
    for (size_t role = 0; role < it->source.baseline->role_count; role++) {
        const struct residual_matrix *residuals = explanation_search_residual_matrix(it, role, number);
        if (residuals->units > 1 && residual_matrix_unit(residuals, unit) >= 0)
            return 1;
    }
    return 0;
}

/*
 * Corrects the score of a set for noise that is related from step to step. The residuals of other ranks say
 * nothing about a unit that is compared with its past: where it is late, they are early in the same steps. -1
 * when memory runs out.
 */
static int relate(struct explanation_search *it, const struct partition *partition, size_t unit,
                  struct step_set *set)
{
    size_t count = 0, steps = (size_t)it->source.baseline->step_count;
    const struct partition *ranks = &it->found->partitions.items[0];
    if (!has_peers(it, partition, unit))
        return 0;
    if (sample_rows(it) || fill_row(it, (size_t)(partition - ranks), unit) < 0)
        return -1;
    for (size_t i = 0; i < it->sampled_count; i++)
        if (partition->unit_of[ranks->ranks[ranks->first[it->sampled[i]]]] != (int32_t)unit)
            memcpy(it->others + count++ * steps, it->rows + i * steps, steps * sizeof *it->rows);
    if (count > 1)
        remove_common(it->others, count, steps);
    set->score = scan_related_score(it->row, set, it->others, count, (int32_t)steps, SCAN_TAIL_OWN,
                                    it->others + MOST_SAMPLED * steps);
    return 0;
}

static void propose(const struct explanation_search *it, const struct explanation *proposal,
                    struct explanation *best)
{
    if (proposal->certainty > best->certainty && !is_idle(it, proposal))
        *best = *proposal;
}

static double unit_count(const struct explanation_search *it)
{
    double units = 0;
    for (size_t i = 0; i < it->found->partitions.count; i++)
        units += (double)it->found->partitions.items[i].count;
    return units;
}

/* Ranks of several hosts have hardly anything in common that could make them slow. */
static double weight_of(const struct explanation_search *it, const struct partition *partition, size_t unit)
{
    const struct partition *hosts = &it->found->partitions.items[1];
    int32_t first = partition->ranks[partition->first[unit]],
            last = partition->ranks[partition->first[unit + 1] - 1];
    if (it->found->partitions.count > 1 && hosts->kind == UNIT_HOST &&
        hosts->unit_of[first] != hosts->unit_of[last])
        return 1;
    return unit_size(partition, unit) > 1 ? SEVERAL_COUNT : 1;
}

/* Finds the best set of each unit of a partition. */
static int scan_units(struct explanation_search *it, size_t number)
{
    const struct partition *partition = &it->found->partitions.items[number];
    if (it->sets[number])
        return 0;
    if (!(it->sets[number] = array_new(partition->count, sizeof **it->sets)))
        return -1;
    for (size_t unit = 0; unit < partition->count; unit++) {
        int is_filled = fill_row(it, number, unit);
        if (is_filled < 0 ||
            (is_filled && scan_row(it->row, it->source.job->step_numbers, it->source.baseline->step_count,
                                   SCAN_TAIL_OWN, &it->sets[number][unit])))
            return -1;
    }
    return 0;
}

static int propose_sets(struct explanation_search *it, size_t number, struct explanation *proposal)
{
    const struct baseline *baseline = it->source.baseline;
    const struct partition *partition = &it->found->partitions.items[number];
    int32_t steps = baseline->step_count - baseline->first_step;
    if (scan_units(it, number))
        return -1;
    const struct step_set *best = it->sets[number];
    for (size_t unit = 0; unit < partition->count; unit++) {
        struct explanation next = {.partition = partition, .unit = unit, .steps = best[unit]};
        if (best[unit].score <= 0)
            continue;
        double penalty = scan_sets(steps) + log(unit_count(it) * KINDS);
        next.certainty = best[unit].score * weight_of(it, partition, unit) - penalty;
        if (next.certainty <= proposal->certainty || is_idle(it, &next))
            continue;
        if (relate(it, partition, unit, &next.steps))
            return -1;
        next.certainty = next.steps.score * weight_of(it, partition, unit) - penalty;
        propose(it, &next, proposal);
    }
    return 0;
}

/*
 * The spread of values above their median. Ranks that wait inside an operation compute in the meantime and
 * show less own time: those below the median may be victims, which do not make the others less alike.
 */
static int64_t spread_above(int64_t *values, size_t count, int64_t middle)
{
    size_t above = 0;
    for (size_t i = 0; i < count; i++)
        if (values[i] >= middle)
            values[above++] = values[i];
    return sigma_about(values, above, middle);
}

/*
 * Measures the spread and the median of the levels of all units that are not part of `unit` (of `partition`)
 * and not explained. Returns their number.
 */
static size_t spread_of_levels(struct explanation_search *it, const struct residual_matrix *residuals,
                               const struct partition *of_residual_matrix, const struct partition *partition,
                               size_t unit, int64_t *middle, int64_t *spread)
{
    size_t count = 0;
    for (size_t i = 0; i < residuals->units; i++) {
        size_t other = (size_t)residuals->unit[i];
        if (partition->unit_of[of_residual_matrix->ranks[of_residual_matrix->first[other]]] !=
                (int32_t)unit &&
            !it->mostly[of_residual_matrix - it->found->partitions.items][other])
            it->list[count++] = residuals->level[i].apart_ns;
    }
    int64_t furthest_ns = count ? it->list[0] : 0;
    for (size_t i = 1; i < count; i++)
        furthest_ns = it->list[i] > furthest_ns ? it->list[i] : furthest_ns;
    *middle = count ? pick_quantile(it->list, count, 0.5) : 0;
    furthest_ns -= *middle;
    *spread = count ? spread_above(it->list, count, *middle) : 0;
    if (count <= FEW_OTHERS && furthest_ns > *spread)
        *spread = furthest_ns;
    return count;
}

/* The log likelihood ratio for a unit that is by `sigmas` beyond its peers. */
static double likelihood_beyond(double sigmas, double freedom)
{
    return sigmas > 0 ? (freedom + 1) / 2 * log1p(sigmas * sigmas / freedom) : 0;
}

/*
 * For the distance of a unit from the others of its role, over all steps, divided by the spread of the others
 * and of their ranks. With two hosts, the ranks of the other host give the spread.
 */
static double level_likelihood(struct explanation_search *it, size_t role, size_t number, size_t at)
{
    const struct partition *partitions = it->found->partitions.items, *partition = &partitions[number];
    const struct residual_matrix *residuals = explanation_search_residual_matrix(it, role, number),
                                 *ranks = explanation_search_residual_matrix(it, role, 0);
    const struct level *level = &residuals->level[at];
    size_t unit = (size_t)residuals->unit[at];
    int64_t middle, spread, of_ranks, ignored;
    if (level->apart_ns <= 0 || (double)level->quiet_ns < THROUGHOUT * (double)level->apart_ns)
        return 0;
    size_t others = spread_of_levels(it, residuals, partition, partition, unit, &middle, &spread);
    size_t peers = spread_of_levels(it, ranks, &partitions[0], partition, unit, &ignored, &of_ranks);
    if (!others || peers < OTHERS_TO_COMPARE)
        return 0;
    /* Of two units, each is as far from the other. */
    if (others == 1)
        middle = 0;
    double steps = it->source.baseline->step_count > 1 ? it->source.baseline->step_count : 1;
    int64_t of_noise = scale(it->sigma_ns[role * it->found->partitions.count + number], 1 / sqrt(steps));
    int64_t of_level = scale(level->others_ns, LEAST_LEVEL_SIGMA);
    spread = spread > of_ranks ? spread : of_ranks;
    spread = spread > of_level ? spread : of_level;
    spread = spread > of_noise ? spread : of_noise;
    /* What a host shows is the same on most of its ranks; what a rank or a block shows may be hidden work. */
    double freedom = partition->is_host ? fmax((double)peers - 1, SCAN_TAIL_OWN) : SCAN_TAIL_OWN;
    return likelihood_beyond((double)(level->apart_ns - middle) / (double)(spread > 0 ? spread : 1), freedom);
}

/* What the leads of a rank, and those of its peers, say about a fault in all steps. */
struct leads {
    size_t peers;
    size_t known;     /* steps in which its lead is known */
    size_t greatest;  /* steps in which it is greater than that of all peers */
    int64_t usual_ns; /* median over steps */
    int64_t quiet_ns; /* lower quartile over steps */
    double others_ns; /* root mean square of the peers' leads in a step */
};

static struct leads measure_leads(struct explanation_search *it, size_t role, size_t at)
{
    const struct residual_matrix *residuals = explanation_search_residual_matrix(it, role, 0);
    struct leads leads = {.peers = 0};
    size_t steps = (size_t)it->source.baseline->step_count;
    double squares = 0;
    for (size_t unit = 0; unit < residuals->units; unit++)
        leads.peers += unit != at && !it->mostly[0][residuals->unit[unit]];
    for (size_t step = (size_t)it->source.baseline->first_step; step < steps; step++) {
        const struct step_leads *all = &it->leads[role * steps + step];
        int64_t lead_ns = residuals->lead[at * steps + step];
        if (residuals->beyond[at * steps + step] == TIME_UNKNOWN)
            continue;
        leads.greatest += lead_ns == all->greatest_ns && lead_ns > all->second_ns;
        squares += fmax(all->squares - (double)lead_ns * (double)lead_ns, 0);
        it->list[leads.known++] = lead_ns;
    }
    leads.usual_ns = leads.known ? pick_quantile(it->list, leads.known, 0.5) : 0;
    leads.quiet_ns = leads.known ? pick_quantile(it->list, leads.known, 0.25) : 0;
    if (leads.known && leads.peers)
        leads.others_ns = sqrt(squares / (double)(leads.known * leads.peers));
    return leads;
}

/* If peers are alike, each is first in as many steps: the log likelihood ratio of a share that is greater. */
static double likelihood_of_order(const struct leads *leads)
{
    double share = (double)leads->greatest / (double)leads->known, expected = 1 / (1 + (double)leads->peers);
    double rest = share < 1 ? (1 - share) * log((1 - share) / (1 - expected)) : 0;
    return share > expected ? (double)leads->known * (share * log(share / expected) + rest) : 0;
}

/*
 * For a rank that arrives after all others in all steps. Own times mislead where a rank computes while it
 * waits, or while transfers run: such time delays no other rank.
 */
static double lead_likelihood(struct explanation_search *it, size_t role, size_t at)
{
    const struct residual_matrix *residuals = explanation_search_residual_matrix(it, role, 0);
    const struct leads leads = measure_leads(it, role, at);
    if (leads.peers < OTHERS_TO_COMPARE || !leads.known || leads.usual_ns <= 0 ||
        (double)leads.quiet_ns < THROUGHOUT * (double)leads.usual_ns)
        return 0;
    double of_level = (double)residuals->level[at].others_ns * LEAST_LEVEL_SIGMA;
    double of_step = (double)it->source.baseline->median_step_ns * LEAST_SIGMA;
    double spread = fmax(leads.others_ns, fmax(of_level, fmax(of_step, 1)));
    /* The spread is known from the peers only, so their number decides how heavy the tails are. */
    double freedom = fmax((double)leads.peers - 1, SCAN_TAIL_OWN);
    return fmin(likelihood_beyond((double)leads.usual_ns / spread, freedom), likelihood_of_order(&leads));
}

/*
 * A slow clock multiplies own time by one factor, so the same part of every own time is too long. The factor
 * is read at the longest place: elsewhere, a rank that waits for the slow one computes in the meantime and
 * shows less own time than the work takes. If that place is not slower, what is slow is not the clock.
 */
static double most_part_of(const struct level *level)
{
    double whole = (double)level->widest_ns + (double)level->widest_more_ns;
    if (level->host_ns * 2 > level->more_ns || whole <= 0 || !level->widest_is_slower)
        return 1;
    return (double)level->widest_more_ns / whole;
}

/* Proposes that a unit, one of those of a role, was slow in all steps. */
static void propose_steady(struct explanation_search *it, size_t number, size_t role, size_t at,
                           struct explanation *proposal)
{
    const struct baseline *baseline = it->source.baseline;
    const struct partition *partition = &it->found->partitions.items[number];
    const struct residual_matrix *residuals = explanation_search_residual_matrix(it, role, number);
    const struct level *level = &residuals->level[at];
    size_t unit = (size_t)residuals->unit[at];
    if (it->mostly[number][unit])
        return;
    double by_level = level_likelihood(it, role, number, at);
    double by_lead = number == 0 ? lead_likelihood(it, role, at) : 0;
    if (by_level <= 0 && by_lead <= 0)
        return;
    struct explanation next = {
        .partition = partition,
        .unit = unit,
        .is_steady = 1,
        .steps = {.first = baseline->first_step, .last = baseline->step_count - 1, .period = 1}};
    /* Ranks of one block may share a design, or wait for each other where the trace does not show it. */
    double weight = partition->is_host ? weight_of(it, partition, unit) : 1;
    double hypotheses = log(unit_count(it) * KINDS);
    next.certainty = fmax(by_level * weight, by_lead) - hypotheses;
    next.is_last = by_lead - hypotheses > it->acceptance_limits->certainty;
    next.slower_part = level->others_ns > 0 ? (double)level->slower_ns / (double)level->others_ns : 1;
    next.most_part = most_part_of(level);
    propose(it, &next, proposal);
}

int explanation_search_move(struct explanation_search *it, size_t number, size_t unit,
                            struct explanation *fault)
{
    int32_t steps = it->source.baseline->step_count - it->source.baseline->first_step;
    int is_filled = 0;
    const struct partition *partition = &it->found->partitions.items[number];
    struct explanation steady = {.certainty = 0};
    fault->partition = partition;
    fault->unit = unit;
    if (fault->is_steady) {
        for (size_t role = 0; role < it->source.baseline->role_count; role++) {
            const struct residual_matrix *residuals = explanation_search_residual_matrix(it, role, number);
            int32_t at = residuals->is_compared ? residual_matrix_unit(residuals, unit) : -1;
            if (at >= 0)
                propose_steady(it, number, role, (size_t)at, &steady);
        }
        steady.partition = partition;
        steady.unit = unit;
        steady.is_steady = 1;
        steady.steps = fault->steps;
        *fault = steady;
    } else if ((is_filled = fill_row(it, number, unit)) > 0) {
        scan_set(it->row, SCAN_TAIL_OWN, &fault->steps);
        if (relate(it, partition, unit, &fault->steps))
            return -1;
        fault->certainty = fault->steps.score * weight_of(it, partition, unit) - scan_sets(steps) -
                           log(unit_count(it) * KINDS);
    }
    return is_filled < 0 ? -1 : 0;
}

static void propose_all_steady(struct explanation_search *it, size_t number, struct explanation *best)
{
    for (size_t role = 0; role < it->source.baseline->role_count; role++) {
        const struct residual_matrix *residuals = explanation_search_residual_matrix(it, role, number);
        for (size_t at = 0; residuals->is_compared && at < residuals->units; at++)
            propose_steady(it, number, role, at, best);
    }
}

int explanation_search_best(struct explanation_search *it, struct explanation *best)
{
    *best = (struct explanation){.certainty = it->acceptance_limits->certainty};
    if (measure_residual_matrices(it))
        return -1;

    for (size_t i = 0; i < it->found->partitions.count; i++)
        propose_all_steady(it, i, best);
    for (size_t i = 0; !best->partition && i < it->found->partitions.count; i++)
        if (propose_sets(it, i, best))
            return -1;
    return best->partition != NULL;
}

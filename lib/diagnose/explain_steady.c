/*
 * How hypotheses compete, and those of units that were slow in all steps: compared with other units of their
 * role, by the level of their own time and, for single ranks, by how much they arrived after all others.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/place_distance.h"
#include "diagnose/score.h"
#include "job/job.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Kinds of faults that a unit may have: own time of its hosts, own time of its GPUs, network. */
static const double KINDS = 3;

/* What most ranks of a host show counts as much as this many ranks. */
static const double SEVERAL_COUNT = 2;

/*
 * A unit counts as slow in all steps if it is slow by at least this part of the median in three of four
 * steps.
 */
static const double THROUGHOUT = 0.5;

static int have_common_step(const struct step_set *a, const struct step_set *b)
{
    for (int32_t step = a->first; step <= a->last; step++)
        if (step_set_has(a, step) && step_set_has(b, step))
            return 1;
    return 0;
}

int explanation_search_is_idle(const struct explanation_search *it, const struct explanation *proposal)
{
    for (int i = 0; i < it->idle_count; i++)
        if (it->idle[i].partition == proposal->partition && it->idle[i].unit == proposal->unit &&
            it->idle[i].is_steady == proposal->is_steady &&
            have_common_step(&it->idle[i].steps, &proposal->steps))
            return 1;
    return 0;
}

void explanation_search_propose(const struct explanation_search *it, const struct explanation *proposal,
                                struct explanation *best)
{
    if (proposal->certainty > best->certainty && !explanation_search_is_idle(it, proposal))
        *best = *proposal;
}

double explanation_search_penalty(const struct explanation_search *it)
{
    double units = 0;
    for (size_t i = 0; i < it->found->partitions.count; i++)
        units += (double)it->found->partitions.items[i].count;
    return log(units * KINDS);
}

int explanation_search_is_several(const struct explanation_search *it, const struct partition *partition,
                                  size_t unit)
{
    const struct partition *hosts = &it->found->partitions.items[1];
    int32_t first = partition->ranks[partition->first[unit]],
            last = partition->ranks[partition->first[unit + 1] - 1];
    if (it->found->partitions.count > 1 && hosts->kind == UNIT_HOST &&
        hosts->unit_of[first] != hosts->unit_of[last])
        return 0;
    return unit_size(partition, unit) > 1;
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
    *middle = count ? pick_quantile(it->list, count, 0.5) : 0;
    *spread = spread_above(it->list, count, *middle);
    return count;
}

/* Whether most of the excess lies before operations that were enqueued late. */
static int level_is_hosts(const struct level *level)
{
    return level->host_ns * 2 > level->more_ns;
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
    int64_t of_noise =
        scale(it->sigma_ns[MEASURE_OWN][role * it->found->partitions.count + number], 1 / sqrt(steps));
    int64_t of_level = scale(level->others_ns, LEAST_LEVEL_SIGMA);
    spread = spread > of_ranks ? spread : of_ranks;
    spread = spread > of_level ? spread : of_level;
    spread = spread > of_noise ? spread : of_noise;
    /* What a host shows is the same on most of its ranks; what a rank or a block shows may be hidden work. */
    double freedom = partition->is_host ? fmax((double)peers - 1, SCAN_TAIL_OWN) : SCAN_TAIL_OWN;
    return likelihood_beyond((double)(level->apart_ns - middle) / (double)(spread > 0 ? spread : 1), freedom);
}

/*
 * For a unit that is beyond the other ranks of its role at most places, as with a slow clock. A late host
 * says nothing about a clock.
 */
static double places_likelihood(const struct explanation_search *it, size_t role, size_t number, size_t at)
{
    const struct partition *partition = &it->found->partitions.items[number];
    const struct residual_matrix *residuals = explanation_search_residual_matrix(it, role, number),
                                 *ranks = explanation_search_residual_matrix(it, role, 0);
    size_t peers = 0;
    for (size_t i = 0; i < ranks->units; i++)
        peers +=
            partition->unit_of[it->found->partitions.items[0].ranks[ranks->unit[i]]] != residuals->unit[at] &&
            !it->mostly[0][ranks->unit[i]];
    const struct level *level = &residuals->level[at];
    if (peers < OTHERS_TO_COMPARE || level->apart_ns <= 0 || level_is_hosts(level))
        return 0;
    return likelihood_beyond(level->typical_distance, fmax((double)peers - 1, SCAN_TAIL_OWN));
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

/*
 * Marks the steps in which the rank of an explanation arrived after all others. Steps in which that is not
 * known count as its own. Returns their number.
 */
static size_t mark_led(const struct explanation_search *it, const struct explanation *explanation,
                       unsigned char *marks)
{
    const struct baseline *baseline = it->source.baseline;
    size_t steps = (size_t)baseline->step_count, role = (size_t)baseline->role_of_rank[explanation->rank],
           at = (size_t)baseline->rank_in_role[explanation->rank], count = 0;
    const struct residual_matrix *residuals = explanation_search_residual_matrix(it, role, 0);
    for (size_t step = 0; step < steps; step++) {
        marks[step] = residuals->beyond[at * steps + step] == TIME_UNKNOWN ||
                      residuals->lead[at * steps + step] == it->leads[role * steps + step].greatest_ns;
        count += marks[step] && step_set_has(&explanation->steps, (int32_t)step);
    }
    return count;
}

void explanation_search_keep_marks(const struct explanation_search *it, struct explanation *explanation,
                                   unsigned char *marks)
{
    size_t steps = (size_t)it->source.baseline->step_count;
    if (explanation->steps.marks)
        explanation->steps.marks = memcpy(marks, explanation->steps.marks, steps);
    else if (explanation->steps.period == 1 && !explanation->has_no_peers &&
             unit_size(explanation->partition, explanation->unit) == 1 &&
             !job_records_calls(it->source.job, explanation->rank) &&
             mark_led(it, explanation, marks) * 2 > (size_t)step_set_count(&explanation->steps))
        explanation->led = marks;
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
    double of_step = (double)it->source.baseline->median_step_ns * SCORE_LEAST_SIGMA;
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
    if (level_is_hosts(level) || whole <= 0 || !level->widest_is_slower)
        return 1;
    return (double)level->widest_more_ns / whole;
}

/*
 * Whether the excess lies at other places in each step, as where another process shares the GPU: what most
 * steps show is several times the sum of what most steps show at each place. Places with less own time than
 * that of the others do not count: a rank that waits elsewhere computes later, at the same places in all
 * steps.
 */
static int is_scattered(const struct level *level)
{
    return level->usual_ns > 2 * level->more_ns;
}

/* A rank that computes longer takes less at few places: at least this part of its excess remains. */
static const double LEAST_NET = 2.0 / 3;

/*
 * Whether a rank computes later rather than longer: at some places less than the others, and much of its
 * excess at others is that. So do ranks that wait elsewhere than their peers.
 */
static int is_displaced(const struct level *level)
{
    int64_t net_ns = level->usual_ns > level->apart_ns ? level->usual_ns : level->apart_ns;
    return !level_is_hosts(level) && (double)net_ns < LEAST_NET * (double)level->more_ns;
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
    if (it->mostly[number][unit] || is_displaced(level))
        return;
    double by_level = fmax(level_likelihood(it, role, number, at), places_likelihood(it, role, number, at));
    double by_lead = number == 0 ? lead_likelihood(it, role, at) : 0;
    if (by_level <= 0 && by_lead <= 0)
        return;
    struct explanation next = {
        .partition = partition,
        .unit = unit,
        .is_steady = 1,
        .steps = {.first = baseline->first_step, .last = baseline->step_count - 1, .period = 1}};
    /* Ranks of one block may share a design, or wait for each other where the trace does not show it. */
    double weight =
        partition->is_host && explanation_search_is_several(it, partition, unit) ? SEVERAL_COUNT : 1;
    double hypotheses = explanation_search_penalty(it);
    next.certainty = fmax(by_level * weight, by_lead) - hypotheses;
    next.is_last = by_lead - hypotheses > it->acceptance_limits->certainty;
    next.slower_part = level->others_ns > 0 ? (double)level->slower_ns / (double)level->others_ns : 1;
    next.is_scattered = is_scattered(level);
    next.most_part = next.is_scattered ? 1 : most_part_of(level);
    explanation_search_propose(it, &next, proposal);
}

void explanation_search_propose_steady(struct explanation_search *it, size_t number, size_t only,
                                       struct explanation *best)
{
    for (size_t role = 0; role < it->source.baseline->role_count; role++) {
        const struct residual_matrix *residuals = explanation_search_residual_matrix(it, role, number);
        for (size_t at = 0; residuals->is_compared && at < residuals->units; at++)
            if (only == ALL_UNITS || (size_t)residuals->unit[at] == only)
                propose_steady(it, number, role, at, best);
    }
}

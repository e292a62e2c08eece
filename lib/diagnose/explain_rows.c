/*
 * The residuals that the search for explanations reads (residual_matrix.c): measured again where something
 * has been explained, in units of their spread, one row of steps for each unit.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/score.h"
#include "job/job.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A quantile, and where it lies in a normal distribution, in standard deviations. */
static const double UPPER = 0.7, UPPER_SIGMA = 0.524;

void explanation_search_forget_sets(struct explanation_search *it)
{
    for (size_t i = 0; i < MOST_PARTITIONS; i++) {
        free(it->peaks[i]);
        it->peaks[i] = NULL;
    }
    for (int measure = 0; measure < MEASURES; measure++) {
        free(it->rows[measure]);
        it->rows[measure] = NULL;
        for (size_t i = 0; i < MOST_PARTITIONS; i++) {
            free(it->sets[measure][i]);
            it->sets[measure][i] = NULL;
        }
    }
}

int explanation_search_is_explained(const struct explanation_search *it, const struct partition *partition,
                                    size_t unit, size_t step)
{
    for (size_t i = partition->first[unit]; i < partition->first[unit + 1]; i++)
        if (it->explained[(size_t)partition->ranks[i] * (size_t)it->source.baseline->step_count + step])
            return 1;
    return 0;
}

const int64_t *explanation_search_values(const struct residual_matrix *residuals, enum measure measure)
{
    return measure == MEASURE_OWN    ? residuals->beyond
           : measure == MEASURE_GPU  ? residuals->gpu
           : measure == MEASURE_LATE ? residuals->late_beyond
                                     : residuals->late;
}

/*
 * The spread of residuals about their median, without explained cells. Of late launches, most are 0: an upper
 * quantile tells their spread, as long as no more ranks are at fault than lie beyond it.
 */
static int64_t sigma_of(struct explanation_search *it, const struct residual_matrix *residuals,
                        enum measure measure, const struct partition *partition)
{
    const int64_t *values = explanation_search_values(residuals, measure);
    const struct baseline *baseline = it->source.baseline;
    size_t steps = (size_t)baseline->step_count, count = 0;
    for (size_t unit = 0; unit < residuals->units; unit++)
        for (size_t step = (size_t)baseline->first_step; step < steps; step++)
            if (values[unit * steps + step] != TIME_UNKNOWN &&
                !explanation_search_is_explained(it, partition, (size_t)residuals->unit[unit], step))
                it->list[count++] = values[unit * steps + step];
    int is_signed = measure == MEASURE_OWN || measure == MEASURE_GPU;
    int64_t middle = count && is_signed ? pick_quantile(it->list, count, 0.5) : 0;
    int64_t sigma = !count      ? 0
                    : is_signed ? sigma_about(it->list, count, middle)
                                : scale(pick_quantile(it->list, count, UPPER), 1 / UPPER_SIGMA);
    int64_t least = scale(baseline->median_step_ns, SCORE_LEAST_SIGMA);
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
            count += explanation_search_is_explained(it, partition, unit, step) != 0;
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

int explanation_search_measure(struct explanation_search *it)
{
    const struct partitions *partitions = &it->found->partitions;
    size_t roles = it->source.baseline->role_count;
    for (size_t i = 0; i < partitions->count; i++)
        mark_mostly_explained(it, i);
    if (residual_matrices_measure(it->residual_matrices, &it->source, partitions, it->dirty))
        return -1;
    for (size_t role = 0; role < roles; role++) {
        if (!it->dirty[role])
            continue;
        for (size_t i = 0; i < partitions->count * MEASURES; i++) {
            size_t number = i / MEASURES;
            enum measure measure = (enum measure)(i % MEASURES);
            it->sigma_ns[measure][role * partitions->count + number] =
                sigma_of(it, explanation_search_residual_matrix(it, role, number), measure,
                         &partitions->items[number]);
        }
        measure_step_leads(it, role);
        it->dirty[role] = 0;
        explanation_search_forget_sets(it);
    }
    return 0;
}

/*
 * Reads the residuals of a unit, in sigma, for each role of its ranks: [role * steps + step]. Returns the
 * number of roles; -1 when memory runs out.
 */
static int read_residuals(struct explanation_search *it, size_t number, size_t unit, enum measure measure)
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
        double sigma = (double)it->sigma_ns[measure][role * it->found->partitions.count + number];
        if (measure == MEASURE_LATE)
            sigma = fmax(sigma, (double)residuals->late_sigma[at]);
        for (size_t step = 0; step < steps; step++) {
            int64_t beyond_ns = explanation_search_values(residuals, measure)[(size_t)at * steps + step];
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

int explanation_search_fill_row(struct explanation_search *it, size_t number, size_t unit,
                                enum measure measure)
{
    const struct baseline *baseline = it->source.baseline;
    const struct partition *partition = &it->found->partitions.items[number];
    int roles = read_residuals(it, number, unit, measure);
    for (size_t step = 0; roles >= 0 && step < (size_t)baseline->step_count; step++)
        it->row[step] =
            step < (size_t)baseline->first_step || explanation_search_is_explained(it, partition, unit, step)
                ? NAN
                : middle_residual(it, (size_t)roles, step);
    return roles > 0 ? 1 : roles;
}

int explanation_search_sample_rows(struct explanation_search *it, enum measure measure)
{
    size_t ranks = it->found->partitions.items[0].count, steps = (size_t)it->source.baseline->step_count;
    size_t stride = (ranks + MOST_SAMPLED - 1) / MOST_SAMPLED;
    if (it->rows[measure])
        return 0;
    it->rows[measure] = array_new(MOST_SAMPLED * steps + 1, sizeof **it->rows);
    if (!it->sampled)
        it->sampled = array_new(MOST_SAMPLED, sizeof *it->sampled);
    if (!it->others)
        it->others = array_new((MOST_SAMPLED * 2 + 1) * steps + 1, sizeof *it->others);
    if (!it->sampled || !it->others || !it->rows[measure])
        return -1;
    it->sampled_count = 0;
    for (size_t unit = 0; unit < ranks; unit += stride) {
        int is_filled = explanation_search_fill_row(it, 0, unit, measure);
        if (is_filled < 0)
            return -1;
        if (!is_filled)
            continue;
        memcpy(it->rows[measure] + it->sampled_count * steps, it->row, steps * sizeof *it->row);
        it->sampled[it->sampled_count++] = (int32_t)unit;
    }
    return 0;
}

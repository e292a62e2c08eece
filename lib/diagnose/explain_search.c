/*
 * Searches for the most certain hypothesis about which unit was slow in which steps, from the residuals of
 * what is not explained yet (explain_rows.c, scan.c). explain.c runs the search.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/finding.h"
#include "diagnose/score.h"
#include "job/job.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    for (int measure = 0; measure < MEASURES; measure++)
        if (!(it->sigma_ns[measure] = array_new(residual_matrices, sizeof **it->sigma_ns)))
            return -1;
    it->leads = array_new(roles * steps + 1, sizeof *it->leads);
    it->dirty = array_new(roles, 1);
    it->row = array_new(steps + 1, sizeof *it->row);
    it->by_role = array_new(roles + 1, sizeof *it->by_role);
    it->scores = array_new(job->rank_count + 1, sizeof *it->scores);
    it->list = array_new(job->rank_count * steps + 1, sizeof *it->list);
    it->marked = array_new(steps + 1, 1);
    it->peak_marks = array_new(it->found->partitions.count * steps + 1, 1);
    for (size_t i = 0; i < it->found->partitions.count; i++)
        if (!(it->mostly[i] = array_new(it->found->partitions.items[i].count, 1)))
            return -1;
    if (!it->explained || !it->stays || !it->growth || !it->residual_matrices || !it->leads || !it->dirty ||
        !it->row || !it->by_role || !it->scores || !it->list || !it->marked || !it->peak_marks)
        return -1;
    memset(it->dirty, 1, roles);
    if (explained)
        memcpy(it->explained, explained, job->rank_count * steps);
    return 0;
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
    explanation_search_forget_sets(it);
    for (size_t i = 0; i < MOST_PARTITIONS; i++)
        free(it->mostly[i]);
    free(it->explained);
    free(it->stays);
    free(it->growth);
    free(it->residual_matrices);
    for (int measure = 0; measure < MEASURES; measure++)
        free(it->sigma_ns[measure]);
    free(it->leads);
    free(it->dirty);
    free(it->row);
    free(it->sampled);
    free(it->others);
    free(it->residuals);
    free(it->by_role);
    free(it->scores);
    free(it->list);
    free(it->marked);
    free(it->peak_marks);
    explanation_search_commit_removed(it);
    free(it->kept_ns);
    for (size_t i = 0; i < MOST_EXPLANATIONS; i++)
        free(it->taken_ns[i]);
    free(it->path);
}

/* Puts the value in the middle of a list in its place, and the next smaller and greater ones beside it. */
static void order_middle(double *list, size_t count)
{
    size_t middle = count / 2;
    if (count < 2)
        return;
    select_real(list, count, middle);
    for (size_t i = 0; i < middle; i++)
        list[middle - 1] = list[i] > list[middle - 1] ? list[i] : list[middle - 1];
    for (size_t i = middle + 1; i < count; i++)
        list[middle + 1] = list[i] < list[middle + 1] ? list[i] : list[middle + 1];
}

/* The median of all values of a list but `value`, one of them. The middle is in order. */
static double median_without(const double *list, size_t count, double value)
{
    size_t middle = count / 2;
    if (count % 2 == 0)
        return value < list[middle] ? list[middle] : list[middle - 1];
    double below = value > list[middle - 1] ? list[middle - 1] : list[middle],
           above = value < list[middle + 1] ? list[middle + 1] : list[middle];
    return (below + above) / 2;
}

/*
 * What all rows have in common is how other ranks respond to a fault, and no noise. Subtracts the median of
 * the other rows, which does not contain another fault as their mean would, and takes off the spread that is
 * gained by it. `list` has room for `count` values.
 */
static void remove_common(double *rows, size_t count, size_t steps, double *list)
{
    double restored = sqrt((double)(count - 1) / (double)count);
    for (size_t step = 0; step < steps; step++) {
        size_t known = 0;
        for (size_t i = 0; i < count; i++)
            if (!isnan(rows[i * steps + step]))
                list[known++] = rows[i * steps + step];
        order_middle(list, known);
        for (size_t i = 0; i < count; i++) {
            double *value = &rows[i * steps + step];
            *value = known > 1 ? (*value - median_without(list, known, *value)) * restored : NAN;
        }
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
                  enum measure measure, struct step_set *set)
{
    size_t count = 0, steps = (size_t)it->source.baseline->step_count;
    const struct partition *ranks = &it->found->partitions.items[0];
    int has_others = has_peers(it, partition, unit);
    if (set->score <= 0 || set->period > 1)
        return 0;
    if (explanation_search_sample_rows(it, measure) ||
        explanation_search_fill_row(it, (size_t)(partition - ranks), unit, measure) < 0)
        return -1;
    /* What happens once happens to all, or to one whose host is silent (silent_hosts.c). */
    if (!has_others && !scan_is_lasting(it->row, set, it->others)) {
        set->score = 0;
        return 0;
    }
    for (size_t i = 0; has_others && i < it->sampled_count; i++)
        if (partition->unit_of[ranks->ranks[ranks->first[it->sampled[i]]]] != (int32_t)unit)
            memcpy(it->others + count++ * steps, it->rows[measure] + i * steps, steps * sizeof **it->rows);
    if (count > 1)
        remove_common(it->others, count, steps, it->others + MOST_SAMPLED * steps);
    set->score = scan_related_score(it->row, set, it->others, count, (int32_t)steps, SCAN_TAIL_OWN,
                                    it->others + MOST_SAMPLED * steps);
    return 0;
}

static double tail_of(const struct explanation_search *it, const struct partition *partition, size_t unit)
{
    return explanation_search_is_several(it, partition, unit) ? SCAN_TAIL_SEVERAL : SCAN_TAIL_OWN;
}

/* Finds the best set of each unit of a partition. */
static int scan_units(struct explanation_search *it, size_t number, enum measure measure)
{
    const struct partition *partition = &it->found->partitions.items[number];
    if (it->sets[measure][number])
        return 0;
    it->sets[measure][number] = array_new(partition->count, sizeof ***it->sets);
    if (measure == MEASURE_OWN)
        it->peaks[number] = array_new((size_t)it->source.baseline->step_count + 1, sizeof **it->peaks);
    if (!it->sets[measure][number] || (measure == MEASURE_OWN && !it->peaks[number]))
        return -1;
    for (size_t unit = 0; unit < partition->count; unit++) {
        int is_filled = explanation_search_fill_row(it, number, unit, measure);
        if (is_filled < 0 ||
            (is_filled && scan_row(it->row, it->source.job->step_numbers, it->source.baseline->step_count,
                                   tail_of(it, partition, unit), &it->sets[measure][number][unit])))
            return -1;
        if (is_filled && measure == MEASURE_OWN)
            explanation_search_note_peaks(it, number, unit);
    }
    return 0;
}

/* What makes launches late lies in one process or in one host. */
static int may_be_late(const struct partition *partition)
{
    return partition->kind == UNIT_RANK || partition->is_host;
}

/* Whether most of what a unit took longer in the steps of a fault lies before operations enqueued late. */
static int is_mostly_host(const struct explanation_search *it, const struct explanation *fault)
{
    size_t number = (size_t)(fault->partition - it->found->partitions.items);
    size_t steps = (size_t)it->source.baseline->step_count;
    int64_t more_ns = 0, host_ns = 0;
    for (size_t role = 0; role < it->source.baseline->role_count; role++) {
        const struct residual_matrix *residuals = explanation_search_residual_matrix(it, role, number);
        int32_t at = residuals->is_compared ? residual_matrix_unit(residuals, fault->unit) : -1;
        for (size_t step = 0; at >= 0 && step < steps; step++)
            if (step_set_has(&fault->steps, (int32_t)step)) {
                more_ns += residuals->more[(size_t)at * steps + step];
                host_ns += residuals->host[(size_t)at * steps + step];
            }
    }
    return host_ns * 2 > more_ns;
}

/*
 * By how much the best scores of the ranks outside a unit (the median) exceed what they should be: hosts of
 * some jobs are late in turn. (Genomic control: Devlin and Roeder, 1999.) The sets have been scanned.
 */
static double inflation_of_others(struct explanation_search *it, const struct explanation *fault,
                                  enum measure measure)
{
    const struct partition *ranks = &it->found->partitions.items[0];
    size_t count = 0;
    for (size_t rank = 0; rank < ranks->count; rank++)
        if (fault->partition->unit_of[ranks->ranks[ranks->first[rank]]] != (int32_t)fault->unit)
            it->scores[count++] = it->sets[measure][0][rank].score;
    sort_reals(it->scores, count);
    int32_t steps = it->source.baseline->step_count - it->source.baseline->first_step;
    return fmax(count ? it->scores[(count - 1) / 2] / scan_expected(steps) : 0, 1);
}

/* The same, or that of the unit in other steps if that is more. -1: no memory */
static double deflation_of(struct explanation_search *it, const struct explanation *fault)
{
    const struct partition *ranks = &it->found->partitions.items[0];
    int32_t steps = it->source.baseline->step_count;
    struct step_set rest;
    if (scan_units(it, 0, MEASURE_LATE) ||
        explanation_search_fill_row(it, (size_t)(fault->partition - ranks), fault->unit, MEASURE_LATE) < 0)
        return -1;
    for (int32_t step = 0; step < steps; step++)
        if (step_set_has(&fault->steps, step))
            it->row[step] = NAN;
    if (scan_row(it->row, it->source.job->step_numbers, steps, SCAN_TAIL_OWN, &rest))
        return -1;
    return fmax(inflation_of_others(it, fault, MEASURE_LATE),
                rest.score / scan_expected(steps - it->source.baseline->first_step));
}

/*
 * Whether a fault has been found in a step, or in one of this unit beside it: what remains may be an effect
 * of it.
 */
static int is_beside_explained(const struct explanation_search *it, const struct partition *partition,
                               size_t unit, int32_t step)
{
    size_t steps = (size_t)it->source.baseline->step_count;
    for (size_t rank = 0; rank < it->source.job->rank_count; rank++)
        if (it->explained[rank * steps + (size_t)step])
            return 1;
    return explanation_search_is_explained(it, partition, unit, (size_t)step - (step > 0)) ||
           ((size_t)step + 1 < steps &&
            explanation_search_is_explained(it, partition, unit, (size_t)step + 1));
}

/* Units in which single steps are examined: ranks and hosts. */
static int has_peaks(const struct partition *partition)
{
    return partition->kind != UNIT_BLOCK && partition->count > 1;
}

static double partitions_with_peaks(const struct explanation_search *it)
{
    double count = 0;
    for (size_t i = 0; i < it->found->partitions.count; i++)
        count += has_peaks(&it->found->partitions.items[i]) &&
                 it->found->partitions.items[i].count > OTHERS_TO_COMPARE;
    return count > 1 ? count : 1;
}

/* Few others show little of the tail: then a single step must exceed them by this factor. */
static const double FAR_AHEAD = 25;

/* Whether a unit took longer in each of the marked steps, if there are any, by far than others in any step.
 */
static int are_far_ahead(const double *row, const struct step_set *set, double most_of_others)
{
    for (int32_t step = set->first; set->first >= 0 && step <= set->last; step++)
        if (step_set_has(set, step) && !is_far_ahead(row[step], most_of_others))
            return 0;
    return set->first >= 0;
}

/* What stands out of a unit in single steps. */
static int find_peaks(struct explanation_search *it, size_t number, size_t unit, struct explanation *next)
{
    const struct baseline *baseline = it->source.baseline;
    const struct partition *partition = &it->found->partitions.items[number];
    size_t steps = (size_t)baseline->step_count;
    unsigned char *marks = &it->peak_marks[number * steps];
    double greatest = 1;
    if (explanation_search_fill_row(it, number, unit, MEASURE_OWN) < 0)
        return -1;
    for (size_t step = 0; step < steps; step++) {
        const struct peak *peak = &it->peaks[number][step];
        greatest = fmax(greatest, peak->unit == (int32_t)unit ? peak->second : peak->most);
        /* The first step may be warm-up, and what remains of a step with a fault may be an effect of it. */
        if ((int32_t)step == baseline->first_step ||
            is_beside_explained(it, partition, unit, (int32_t)step) ||
            explanation_search_is_late_with_others(it, partition, unit, step))
            it->row[step] = NAN;
    }
    double most_of_others = greatest;
    if (partition->count <= OTHERS_TO_COMPARE)
        greatest *= FAR_AHEAD;
    next->partition = partition;
    next->unit = unit;
    if (explanation_search_is_usually_last(it, number, unit, greatest))
        return 0;
    next->certainty =
        scan_peaks(it->row, (int32_t)steps, greatest, partition->count, SCAN_TAIL_OWN, marks, &next->steps);
    int is_certain = has_peers(it, partition, unit) && are_far_ahead(it->row, &next->steps, most_of_others);
    if (!is_certain && is_mostly_host(it, next))
        next->certainty /= inflation_of_others(it, next, MEASURE_OWN);
    next->certainty -= log(partitions_with_peaks(it));
    return 0;
}

static int propose_peaks(struct explanation_search *it, size_t number, struct explanation *proposal)
{
    struct explanation next = {.partition = NULL};
    if (!has_peaks(&it->found->partitions.items[number]))
        return 0;
    if (scan_units(it, 0, MEASURE_OWN) || scan_units(it, number, MEASURE_OWN))
        return -1;
    int32_t unit = explanation_search_unit_of_peak(it, number);
    if (unit < 0)
        return 0;
    if (find_peaks(it, number, (size_t)unit, &next))
        return -1;
    explanation_search_propose(it, &next, proposal);
    return 0;
}

/* The mean of a row, and the part of its steps that are beyond 0 by more than their spread. */
static double mean_of(const double *row, size_t steps, double *part)
{
    double sum = 0, known = 0, late = 0;
    for (size_t step = 0; step < steps; step++)
        if (!isnan(row[step])) {
            sum += row[step];
            late += row[step] > 1;
            known++;
        }
    *part = known > 0 ? late / known : 0;
    return known > 0 ? sum / known : 0;
}

/* Hosts of healthy jobs differ by less, in standard deviations. */
static const double LEAST_ALWAYS = 3;

/* Whether a unit is late in more than half of all steps. */
static int is_mostly_late(const struct explanation_search *it, double *mean)
{
    double part;
    *mean = mean_of(it->row, (size_t)it->source.baseline->step_count, &part);
    return part > 0.5 && *mean >= LEAST_ALWAYS;
}

/* Whether it is also late by far more than any other rank is by design. */
static int is_always_late(const struct explanation_search *it, const struct explanation *fault)
{
    const struct partition *ranks = &it->found->partitions.items[0];
    size_t steps = (size_t)it->source.baseline->step_count;
    double greatest = 0, ignored, mean;
    if (fault->steps.score <= 0 || !is_mostly_late(it, &mean))
        return 0;
    for (size_t i = 0; i < it->sampled_count; i++)
        if (fault->partition->unit_of[ranks->ranks[ranks->first[it->sampled[i]]]] != (int32_t)fault->unit)
            greatest = fmax(greatest, mean_of(it->rows[MEASURE_ALWAYS_LATE] + i * steps, steps, &ignored));
    return is_far_ahead(mean, greatest);
}

static double certainty_of(const struct explanation_search *it, const struct explanation *fault)
{
    int32_t steps = it->source.baseline->step_count - it->source.baseline->first_step;
    return fault->steps.score - (fault->is_steady ? 0 : scan_sets(steps)) - explanation_search_penalty(it);
}

/* Computes the certainty of a set of steps that was scored. -1 when memory runs out. */
static int rate_set(struct explanation_search *it, struct explanation *fault)
{
    if (relate(it, fault->partition, fault->unit, fault->measure, &fault->steps))
        return -1;
    if (fault->measure == MEASURE_ALWAYS_LATE && !is_always_late(it, fault))
        fault->steps.score = 0;
    int is_late =
        fault->measure == MEASURE_LATE || (fault->measure == MEASURE_OWN && fault->steps.score > 0 &&
                                           may_be_late(fault->partition) && is_mostly_host(it, fault));
    double deflation = is_late ? deflation_of(it, fault) : 1;
    if (deflation < 0)
        return -1;
    fault->steps.score /= deflation;
    fault->certainty = certainty_of(it, fault);
    return 0;
}

static int propose_sets(struct explanation_search *it, size_t number, enum measure measure,
                        struct explanation *proposal)
{
    const struct partition *partition = &it->found->partitions.items[number];
    if (scan_units(it, number, measure))
        return -1;
    const struct step_set *best = it->sets[measure][number];
    for (size_t unit = 0; unit < partition->count; unit++) {
        struct explanation next = {.partition = partition, .unit = unit, .steps = best[unit]};
        next.measure = measure;
        if (best[unit].score <= 0)
            continue;
        next.certainty = certainty_of(it, &next);
        if (next.certainty <= proposal->certainty || explanation_search_is_idle(it, &next))
            continue;
        if (rate_set(it, &next))
            return -1;
        explanation_search_propose(it, &next, proposal);
    }
    return 0;
}

/* Whether enough other units have a role of the unit, to compare it with them in all steps. */
static int has_enough_peers(const struct explanation_search *it, size_t number, size_t unit)
{
    for (size_t role = 0; role < it->source.baseline->role_count; role++) {
        const struct residual_matrix *residuals = explanation_search_residual_matrix(it, role, number);
        if (residual_matrix_unit(residuals, unit) >= 0 && residuals->units <= OTHERS_TO_COMPARE)
            return 0;
    }
    return 1;
}

/* A host that is late in all steps, by other times in each of them. -1 when memory runs out. */
static int propose_late(struct explanation_search *it, size_t number, size_t unit,
                        struct explanation *proposal)
{
    const struct baseline *baseline = it->source.baseline;
    struct explanation next = {
        .partition = &it->found->partitions.items[number],
        .unit = unit,
        .is_steady = 1,
        .measure = MEASURE_ALWAYS_LATE,
        .slower_part = 1,
        .steps = {.first = baseline->first_step, .last = baseline->step_count - 1, .period = 1}};
    double mean;
    if (it->mostly[number][unit] || !may_be_late(next.partition) || !has_enough_peers(it, number, unit))
        return 0;
    int is_filled = explanation_search_fill_row(it, number, unit, MEASURE_ALWAYS_LATE);
    if (is_filled <= 0 || !is_mostly_late(it, &mean))
        return is_filled < 0 ? -1 : 0;
    scan_set(it->row, tail_of(it, next.partition, unit), &next.steps);
    if (rate_set(it, &next))
        return -1;
    explanation_search_propose(it, &next, proposal);
    return 0;
}

int explanation_search_move(struct explanation_search *it, size_t number, size_t unit,
                            struct explanation *fault)
{
    struct explanation steady = {.certainty = 0};
    if (fault->steps.marks &&
        (fault->partition != &it->found->partitions.items[number] || fault->unit != unit))
        fault->certainty = 0;
    fault->partition = &it->found->partitions.items[number];
    fault->unit = unit;
    if (fault->steps.marks)
        return 0;
    if (fault->is_steady) {
        if (fault->measure == MEASURE_OWN)
            explanation_search_propose_steady(it, number, unit, &steady);
        else if (propose_late(it, number, unit, &steady))
            return -1;
        steady.partition = fault->partition;
        steady.unit = unit;
        steady.is_steady = 1;
        steady.measure = fault->measure;
        steady.steps = fault->steps;
        *fault = steady;
        return 0;
    }
    int is_asked = fault->measure == MEASURE_OWN ||
                   (fault->measure == MEASURE_GPU ? number == 0 : may_be_late(fault->partition));
    int is_filled = is_asked ? explanation_search_fill_row(it, number, unit, fault->measure) : 0;
    fault->certainty = 0;
    if (is_filled <= 0)
        return is_filled;
    scan_set(it->row, tail_of(it, fault->partition, unit), &fault->steps);
    return rate_set(it, fault);
}

/* Steps in which a unit was slow, or its host late. */
static int propose_all_sets(struct explanation_search *it, size_t number, struct explanation *best)
{
    const struct partition *partition = &it->found->partitions.items[number];
    if (propose_sets(it, number, MEASURE_OWN, best))
        return -1;
    for (size_t unit = 0; unit < partition->count; unit++)
        if (propose_late(it, number, unit, best))
            return -1;
    return may_be_late(partition) ? propose_sets(it, number, MEASURE_LATE, best) : 0;
}

/*
 * Hosts that are hardly ahead of their GPUs are late in turn, and own time is mostly theirs: what a GPU takes
 * longer is as much as its host was late before. So where a host was late in most of the own time of the best
 * hypothesis, or there is none, the part of own time that is the GPU's is searched as well: of single ranks,
 * as hosts share none. What is left beside steps with a finding may be the rest of that.
 */
static int propose_gpu(struct explanation_search *it, struct explanation *best)
{
    const struct job *job = it->source.job;
    struct explanation next = *best;
    int is_host = !best->partition || best->measure != MEASURE_OWN || is_mostly_host(it, best);
    if (!is_host || job->finished_only || !job_records_calls(job, 0))
        return 0;
    if (propose_sets(it, 0, MEASURE_GPU, &next))
        return -1;
    for (int32_t step = next.steps.first; next.measure == MEASURE_GPU && step <= next.steps.last; step++)
        if (explanation_search_is_explained(it, next.partition, next.unit, (size_t)step))
            return 0;
    *best = next;
    return 0;
}

int explanation_search_best(struct explanation_search *it, struct explanation *best)
{
    *best = (struct explanation){.certainty = it->acceptance_limits->certainty};
    if (explanation_search_measure(it))
        return -1;
    for (size_t i = 0; i < it->found->partitions.count; i++)
        explanation_search_propose_steady(it, i, ALL_UNITS, best);
    for (size_t i = 0; !best->partition && i < it->found->partitions.count; i++)
        if (propose_all_sets(it, i, best))
            return -1;
    int is_found = best->partition != NULL;
    for (size_t i = 0; !best->partition && i < it->found->partitions.count; i++)
        if (propose_peaks(it, i, best))
            return -1;
    /* Single steps keep their precedence: what follows them may be an effect of them. */
    if ((is_found || !best->partition) && propose_gpu(it, best))
        return -1;
    return best->partition != NULL;
}

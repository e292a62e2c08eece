#ifndef NCCLPROF_SCORE_SCAN_H
#define NCCLPROF_SCORE_SCAN_H

#include <stddef.h>
#include <stdint.h>

/*
 * How well a fault in some steps explains a row of residuals, one for each step in units of the noise's
 * standard deviation: the sum over its steps of log(t(y - m) / t(y)), t the density of Student's t. The power
 * law of its tail holds what single steps can say within bounds (one of 30 sigma says as much as 1.5 log
 * 450); steps add up. m is the size of the fault.
 *
 * The sets of steps are all intervals, and of every period and phase all runs of occurrences; those in which
 * fewer than three steps speak for the fault are no sets: what one or two steps say is left to others. Nor
 * are those that leave less than a quarter of the steps to be the usual.
 */
struct step_set {
    double score; /* 0: there is none */
    double size;  /* m */
    int32_t first;
    int32_t last;
    int32_t period;         /* 1: an interval */
    const int32_t *numbers; /* borrowed: what periods count by, of each step; NULL: steps themselves */
};

/* Whether a step is some periods from another; those of number -1 recur with none. */
static inline int step_recurs(const int32_t *numbers, int32_t first, int32_t step, int32_t period)
{
    if (!numbers || period < 2)
        return (step - first) % period == 0;
    return numbers[first] >= 0 && numbers[step] >= 0 && (numbers[step] - numbers[first]) % period == 0;
}

/* Whether a step is of a set, and how many are. */
static inline int step_set_has(const struct step_set *set, int32_t step)
{
    return step >= set->first && step <= set->last &&
           step_recurs(set->numbers, set->first, step, set->period);
}

static inline int32_t step_set_count(const struct step_set *set)
{
    int32_t count = 0;
    if (!set->numbers)
        return (set->last - set->first) / set->period + 1;
    for (int32_t step = set->first; step <= set->last; step++)
        count += step_set_has(set, step);
    return count;
}

/*
 * Residuals that are not known are NAN. `numbers`, ascending but for those of -1, is what periods count by
 * (step_set); NULL: steps. -1 when memory is out.
 */
int scan_row(const double *row, const int32_t *numbers, int32_t steps, double tail, struct step_set *best);

/* The score of a set of steps for another row, of the best size: into `set`. */
void scan_set(const double *row, double tail, struct step_set *set);

/* The logarithm of how many sets there are in so many steps. */
double scan_sets(int32_t steps);

/* The median of the best score of a row of independent t residuals. */
double scan_expected(int32_t steps);

#endif

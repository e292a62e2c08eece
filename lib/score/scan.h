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
    int32_t period; /* 1: an interval */
};

/* Residuals that are not known are NAN. -1 when memory is out. */
int scan_row(const double *row, int32_t steps, double tail, struct step_set *best);

/* The score of a set of steps for another row, of the best size: into `set`. */
void scan_set(const double *row, double tail, struct step_set *set);

/* The logarithm of how many sets there are in so many steps. */
double scan_sets(int32_t steps);

/* The median of the best score of a row of independent t residuals. */
double scan_expected(int32_t steps);

#endif

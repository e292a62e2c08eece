#ifndef NCCLPROF_COMPARE_LEVEL_H
#define NCCLPROF_COMPARE_LEVEL_H

#include <stddef.h>

/*
 * The level of a figure in a run, and how far it is known. Steps remember the ones before (networks and hosts
 * have moments that last), so that their plain standard error is too small: the run is cut into batches of
 * consecutive steps, and the spread is that of the batches' medians (batch means: Conway, 1963; Schmeiser,
 * 1982: 10 to 30 of them). A median shrugs off a single long step, a batch what steps remember.
 */
struct step_level {
    double median;
    double error;   /* standard error */
    double freedom; /* degrees of freedom that it is known with; 0: it is not */
    double drift;   /* greatest less least of the medians of the run's thirds */
    size_t steps;
};

/* Of values in the order of steps. -1 when memory is out. */
int level_measure(struct step_level *level, const double *values, size_t count);

/*
 * The difference of two levels that chance alone goes beyond `part` of the time, by Welch's t; and how often
 * it goes beyond `difference`. Errors of 0 on both sides: none, and never.
 */
double levels_limit(const struct step_level *a, const struct step_level *b, double part);
double levels_chance(const struct step_level *a, const struct step_level *b, double difference);

#endif

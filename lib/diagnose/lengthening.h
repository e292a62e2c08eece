#ifndef NCCLPROF_DIAGNOSE_LENGTHENING_H
#define NCCLPROF_DIAGNOSE_LENGTHENING_H

#include "diagnose/suspect.h"

/*
 * By how much a suspicion's steps were longer than the median of the others, give or take what steps differ
 * by
 * (`errors` standard errors, limits.h).
 */
struct lengthening {
    int is_known;      /* else the rest is 0, and most_ns INT64_MAX */
    double error_ns;   /* standard error of the sum of its steps' lengths */
    double part;       /* how many steps it has, of those whose length is known */
    int64_t some_ns;   /* by how much those whose length is known were longer */
    int64_t least_ns;  /* of a late host, without what most others were late by; 0 or less where it is not
                          known, or others cost something in the same steps */
    int64_t rest_ns;   /* what the others leave; 0 or less where it is not known */
    int64_t beside_ns; /* what those cost */
    int64_t longer_ns; /* by how much they were longer */
    int64_t most_ns;   /* INT64_MAX unknown */
    int64_t shared_ns; /* of a late host, what most others were late by, too */
};

int suspects_sum_costs(struct suspects *suspects, int32_t step_count); /* first; -1 when memory is out */

/* -1 when memory is out. */
int suspect_measure_steps(const struct suspects *suspects, const struct suspect *suspect,
                          const struct job *job, const struct baseline *baseline,
                          struct lengthening *lengthening);

/*
 * Whether their length shows what a suspicion is said to have cost: asks the rules. What a network cost has
 * to show; of a late rank it is enough that it may.
 */
void suspect_ask_steps(struct suspect *suspect, const struct lengthening *lengthening);

/* By how much its steps were longer at most, without what most hosts were late by in them. */
int64_t most_unshared(const struct lengthening *lengthening);

#endif

#ifndef NCCLPROF_DIAGNOSE_LENGTHENING_H
#define NCCLPROF_DIAGNOSE_LENGTHENING_H

#include "diagnose/suspect.h"

/* What makes steps longer by so many times what a suspicion amounts to is something else. */
enum { UNEXPLAINED = 5 };

/*
 * Whether the suspicion's steps were longer than others by a third of what it is said to have
 * cost, or more, beyond what steps differ by anyway; of a late rank, whether they may have been by a quarter
 * of it, or of what it came later by than all others; of a late host, without what most others were late by,
 * and that it is not less than a tenth of what nothing else accounts for. And by how much they were longer,
 * give or take what steps differ by. -1 when memory is out.
 */
struct lengthening {
    int shows;         /* also where that is not known */
    int64_t least_ns;  /* of a late host, without what most others were late by; 0 or less where it is not
                          known, or others cost something in the same steps */
    int64_t rest_ns;   /* what the others leave; 0 or less where it is not known */
    int64_t beside_ns; /* what those cost */
    int64_t longer_ns; /* by how much they were longer */
    int64_t most_ns;   /* INT64_MAX unknown */
    int64_t shared_ns; /* of a late host, what most others were late by, too */
};

int suspects_sum_costs(struct suspects *suspects, int32_t step_count); /* first; -1 when memory is out */
int suspect_measure_steps(const struct suspects *suspects, const struct suspect *suspect,
                          const struct job *job, const struct baseline *baseline,
                          struct lengthening *lengthening);

/* By how much its steps were longer at most, without what most hosts were late by in them. */
int64_t most_unshared(const struct lengthening *lengthening);

#endif

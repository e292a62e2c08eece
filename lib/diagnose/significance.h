#ifndef NCCLPROF_DIAGNOSE_SIGNIFICANCE_H
#define NCCLPROF_DIAGNOSE_SIGNIFICANCE_H

#include "diagnose/step_runs.h"

/* Adds what stands out in the cells to the suspects, with how likely noise is to make it. -1 when memory is
 * out. */
int strength_find(struct strength *strength, int64_t least_ns, enum finding_kind kind,
                  struct suspects *suspects);

/*
 * Whether noise is expected to do as much at least once, and others come near it: such a suspicion
 * is never told, and not weighed.
 */
int suspect_is_noise(const struct suspect *suspect);

/*
 * Whether a step alone is beyond what noise does to one, all others considered: by chance, and ahead of any
 * other; or so far ahead that no tail matters.
 */
int suspect_stands_alone(const struct suspect *suspect);

#endif

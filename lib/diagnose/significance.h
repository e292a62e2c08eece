#ifndef NCCLPROF_DIAGNOSE_SIGNIFICANCE_H
#define NCCLPROF_DIAGNOSE_SIGNIFICANCE_H

#include "diagnose/step_runs.h"

/* A step alone stands out that is so many times what any other is worth; or so far ahead that no tail
 * matters. */
enum { AHEAD = 10, FAR_AHEAD = 25 };

/* As far ahead as this is beyond the moments that hosts and networks have, whatever their tail. */
enum { AHEAD_OF_MANY = 5 };

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
 * Whether a step alone is beyond what noise does to one, all others considered; by so much more
 * where only a `part` of the chance is allowed (up to 1).
 */
int suspect_stands_alone(const struct suspect *suspect, double part);

#endif

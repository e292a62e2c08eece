#ifndef NCCLPROF_COMPARE_MEASURE_RANKS_H
#define NCCLPROF_COMPARE_MEASURE_RANKS_H

#include "compare/measured_run.h"
#include "compare/network_parts.h"

/*
 * Own time of each rank in a step: beyond the median of the other ranks of its role in
 * the same step, or of all others where it plays its role alone; itself; and before each call of the step.
 * And of all ranks together. It is what passes until a call runs while no other of the rank's does. -1 when
 * memory is out.
 */
int measure_ranks(struct measured_run *run, const struct job *job, const struct baseline *baseline,
                  const struct usual *usual, const struct network_parts *parts);

#endif

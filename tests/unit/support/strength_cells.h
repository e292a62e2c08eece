#ifndef NCCLPROF_TESTS_SUPPORT_STRENGTH_CELLS_H
#define NCCLPROF_TESTS_SUPPORT_STRENGTH_CELLS_H

#include "analyse/finding.h"

/* Excess of ten ranks in 21 steps, the first of which is the warm-up; 100 is worth something. */
enum { RANKS = 10, STEPS = 21, FIRST = 1, LEAST = 100 };

void start(struct strength *strength);
void put(struct strength *strength, int rank, int step, int64_t excess_ns);

/* Suspicions of compute; releases the cells. */
void find(struct strength *strength, struct suspects *suspects);

#endif

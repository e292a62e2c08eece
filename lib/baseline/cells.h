#ifndef NCCLPROF_BASELINE_CELLS_H
#define NCCLPROF_BASELINE_CELLS_H

#include "baseline/baseline.h"

/* The operation of a rank at a place in a step; -1. */
int32_t baseline_cell(const struct baseline *baseline, int32_t role, int32_t position, size_t rank,
                      int32_t step);

/* baseline_init's part: ranks of the roles, and which operation is at which place. -1 when memory is out. */
int baseline_fill_cells(struct baseline *baseline, const struct job *job);

#endif

#ifndef NCCLPROF_STALLS_USUAL_H
#define NCCLPROF_STALLS_USUAL_H

#include "stalls/judge.h"

/* The run of a cell's edge. */
const struct stalls_run *judge_run(const struct judge *judge, const struct stalls_cell *cell);

/* Training steps that an edge is judged by, at the least. */
enum { LEAST_STEPS = 3 };

/*
 * Fills in what is usual for each cell and judge->usuals; then sums the cells of an edge and training step
 * over all kinds of operation, and fills in judge->first. -1: memory is out.
 */
int judge_learn_usual(struct judge *judge);

#endif

#ifndef NCCLPROF_TESTS_SUPPORT_STRENGTH_CELLS_H
#define NCCLPROF_TESTS_SUPPORT_STRENGTH_CELLS_H

#include "diagnose/diagnose.h"
#include "diagnose/suspect.h"
#include "job/job.h"

#include <stddef.h>
#include <stdint.h>

/* The excess of (usually ten) ranks in 21 steps, the first of which is the warm-up; 100 is relevant. */
enum { RANKS = 10, STEPS = 21, FIRST = 1, LEAST = 100 };

struct strength start(size_t rank_count);
void put(struct strength *strength, int rank, int step, int64_t excess_ns);

/* Releases the cells; the caller frees the items of the result. */
struct suspects find(struct strength *strength);

#endif

#ifndef NCCLPROF_BASELINE_EACH_PLACE_H
#define NCCLPROF_BASELINE_EACH_PLACE_H

#include "baseline/baseline.h"

/* Threads go through the places of all roles, each of which is measured by itself. */

/* How many are worth their while: what a thread needs to measure a place is little beside the job. */
size_t each_place_threads(const struct baseline *baseline, const struct job *job);

/* The most ranks that a role has. */
size_t each_place_ranks(const struct baseline *baseline);

/* Does something at a place. `worker`: as in base/parallel.h. */
typedef void (*place_visit)(void *context, size_t worker, size_t role, int32_t position);

/* Goes to each place once, in any order. -1 when memory is out. */
int each_place(const struct baseline *baseline, size_t threads, place_visit visit, void *context);

#endif

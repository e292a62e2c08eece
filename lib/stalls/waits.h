#ifndef NCCLPROF_STALLS_WAITS_H
#define NCCLPROF_STALLS_WAITS_H

#include "stalls/stalls.h"

/* -1: memory is out. */
int stalls_add_wait(struct stalls_waits *waits, int64_t wait_ns);

/* Median, nearest rank. Negative for none. */
double stalls_median_us(const struct stalls_waits *waits);

#endif

#ifndef NCCLPROF_BASELINE_EXCESS_H
#define NCCLPROF_BASELINE_EXCESS_H

#include "baseline/baseline.h"

/* baseline_init's part: fills in excess, hidden and late_ns, which are there. -1 when memory is out. */
int baseline_measure_places(struct baseline *baseline, const struct job *job, double sigmas);

#endif

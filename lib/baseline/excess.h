#ifndef NCCLPROF_BASELINE_EXCESS_H
#define NCCLPROF_BASELINE_EXCESS_H

#include "baseline/baseline.h"

/* baseline_init's part: fills in excess_ns and hidden_ns of operations. -1 when memory is out. */
int baseline_measure_places(const struct baseline *baseline, struct job *job, double sigmas);

#endif

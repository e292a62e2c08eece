#ifndef NCCLPROF_NETWORK_BUSY_TIME_H
#define NCCLPROF_NETWORK_BUSY_TIME_H

#include "network/edges.h"

/*
 * Fills over_ns. Edges at one place of the step (sender's role and position) are held against each
 * other and their own other steps, as ranks are (baseline.h).
 */
int edges_measure_busy(struct edges *edges, const struct job *job, const struct baseline *baseline,
                       double sigmas);

#endif

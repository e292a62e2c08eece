#ifndef NCCLPROF_ANALYSE_RUN_METRICS_H
#define NCCLPROF_ANALYSE_RUN_METRICS_H

#include "analyse/judged_run.h"

struct metrics;

/* What Prometheus is told of a run: its steps, shares, losses, findings, bandwidths and coverage. */
int run_metrics_add(struct metrics *metrics, const struct judged_run *run, struct error *error);

#endif

#ifndef NCCLPROF_COMPARE_MEASURE_H
#define NCCLPROF_COMPARE_MEASURE_H

#include "compare/measured_run.h"
#include "compare/usual.h"

/* All figures of a run (measured_run_init), its findings and its shape. Wants what findings_find fills in. */
int run_measure(struct measured_run *run, const struct job *job, const struct baseline *baseline,
                const struct findings *findings, struct error *error);

#endif

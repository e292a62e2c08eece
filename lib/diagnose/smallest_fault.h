#ifndef NCCLPROF_DIAGNOSE_SMALLEST_FAULT_H
#define NCCLPROF_DIAGNOSE_SMALLEST_FAULT_H

#include "baseline/baseline.h"
#include "verdict/finding.h"
#include "verdict/options.h"

/*
 * The smallest lateness of a GPU before one operation of its steps that would have been found with medium
 * confidence, by the noise of the run itself and the limits of the verdict: what a silence is worth. In nine
 * of ten places of the step it is no more.
 */
struct smallest_fault {
    int64_t one_step_ns;    /* TIME_UNKNOWN: none would have been */
    int64_t three_steps_ns; /* in a row: of each */
    int64_t every_step_ns;  /* TIME_UNKNOWN also where no role has four ranks to compare */
};

/* -1 when memory is out. */
int smallest_fault_measure(struct smallest_fault *smallest, const struct job *job,
                           const struct baseline *baseline, const struct findings *findings,
                           const struct diagnose_options *options);

#endif

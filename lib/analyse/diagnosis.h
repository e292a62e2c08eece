#ifndef NCCLPROF_ANALYSE_DIAGNOSIS_H
#define NCCLPROF_ANALYSE_DIAGNOSIS_H

#include "baseline/baseline.h"
#include "verdict/finding.h"
#include "verdict/options.h"

/*
 * What suspicions (suspect.h) amount to, and what postmortem finds, in their order. `baseline` is made
 * here and released by the caller, also on failure; it starts out zeroed.
 */
int findings_find(struct findings *findings, struct job *job, struct baseline *baseline,
                  const struct diagnose_options *options, struct error *error);

#endif

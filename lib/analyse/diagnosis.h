#ifndef NCCLPROF_ANALYSE_DIAGNOSIS_H
#define NCCLPROF_ANALYSE_DIAGNOSIS_H

#include "baseline/baseline.h"
#include "network/transfer_excess.h"
#include "verdict/finding.h"
#include "verdict/options.h"

/*
 * What suspicions (suspect.h) amount to, and what postmortem finds, in their order. `baseline` and
 * `*transfers`, one for each instance, are made here and released (freed) by the caller, also on failure;
 * they start out zeroed.
 */
int findings_find(struct findings *findings, const struct job *job, struct baseline *baseline,
                  struct transfer_excess **transfers, const struct diagnose_options *options,
                  struct error *error);

/* Of that only what is beyond the usual: baseline->excess and `*transfers`, likewise. */
int excess_find(const struct job *job, struct baseline *baseline, struct transfer_excess **transfers,
                const struct diagnose_options *options, struct error *error);

/*
 * What diagnose is asked without options, for analyses that give its verdicts: rules that the environment
 * turns off included. -1 where that, or the store, cannot be read.
 */
int diagnose_options_usual(struct diagnose_options *options, struct store *store, struct error *error);

#endif

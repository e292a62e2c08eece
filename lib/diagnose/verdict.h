#ifndef NCCLPROF_DIAGNOSE_VERDICT_H
#define NCCLPROF_DIAGNOSE_VERDICT_H

#include "diagnose/suspect.h"

struct edges;

/*
 * Turns the suspicions that are worth saying into findings, with phase, confidence and evidence, and notes in
 * them what the rules read that are not `off` in the findings. `edges` may be NULL.
 * Counts those that were not weighed and are believed, or would be if they cost all that they amount to.
 */
int suspects_judge(struct suspects *suspects, const struct job *job, const struct baseline *baseline,
                   const struct edges *edges, const struct transfer_excess *transfers,
                   const struct diagnose_options *options, struct findings *findings, struct error *error);

#endif

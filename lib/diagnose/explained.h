#ifndef NCCLPROF_DIAGNOSE_EXPLAINED_H
#define NCCLPROF_DIAGNOSE_EXPLAINED_H

#include "delay/replay.h"
#include "diagnose/suspect.h"
#include "network/edges.h"
#include "verdict/finding.h"
#include "verdict/options.h"

#include "baseline/baseline.h"
#include "network/transfer_excess.h"

/*
 * What the score of all hypotheses (score/explain.h) believes becomes findings: of a rank or several as one,
 * in a row of steps, every so-many-th or all. Findings of the same ranks that are a part of one go into it,
 * and one of a row of steps that is believed anyway stays as it is. Not where recorders list finished
 * operations only: what they leave out looks like own time. Wants what suspects_judge adds, and no other
 * findings. `replay` (explain.h) is NULL where nothing has times on the device.
 */
int findings_take_explanations(struct findings *findings, const struct suspects *suspects,
                               const struct job *job, const struct baseline *baseline,
                               const struct edges *edges, const struct transfer_excess *transfers,
                               struct replay *replay, const struct diagnose_options *options,
                               struct error *error);

#endif

#ifndef NCCLPROF_POSTMORTEM_MISSING_H
#define NCCLPROF_POSTMORTEM_MISSING_H

#include "verdict/finding.h"
#include "verdict/options.h"

struct extents;

/* Ranks that never came, or called something else. Wants positions (baseline_init). */
int find_absence(const struct job *job, const struct extents *extents, const struct diagnose_options *options,
                 struct findings *findings, struct error *error);

#endif

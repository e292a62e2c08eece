#ifndef NCCLPROF_POSTMORTEM_MISSING_H
#define NCCLPROF_POSTMORTEM_MISSING_H

#include "verdict/finding.h"
#include "verdict/options.h"

struct extents;

/* Ranks that never came, or called something else. `positions` are the baseline's. */
int find_absence(const struct job *job, const int32_t *positions, const struct extents *extents,
                 const struct diagnose_options *options, struct findings *findings, struct error *error);

#endif

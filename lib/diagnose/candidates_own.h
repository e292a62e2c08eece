#ifndef NCCLPROF_DIAGNOSE_CANDIDATES_OWN_H
#define NCCLPROF_DIAGNOSE_CANDIDATES_OWN_H

#include "diagnose/suspect.h"

/* Ranks that came late by themselves. */
int suspect_own(struct suspects *suspects, const struct job *job, struct baseline *baseline,
                const struct diagnose_options *options, struct error *error);

#endif

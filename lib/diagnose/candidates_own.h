#ifndef NCCLPROF_DIAGNOSE_CANDIDATES_OWN_H
#define NCCLPROF_DIAGNOSE_CANDIDATES_OWN_H

#include "diagnose/suspect.h"

/* Ranks that came late by themselves. */
int suspect_own(struct suspects *suspects, struct job *job, const struct baseline *baseline,
                const struct diagnose_options *options, struct error *error);

#endif

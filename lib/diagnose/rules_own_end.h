#ifndef NCCLPROF_DIAGNOSE_RULES_OWN_END_H
#define NCCLPROF_DIAGNOSE_RULES_OWN_END_H

#include "diagnose/suspect.h"

/*
 * Asks the rules about a suspicion most of which may be something else: the rough end of a send or a receive,
 * or a receive that the recorder leaves out (hides_pairs). `least_ns`: what a step of it has to be worth.
 */
void suspect_doubt_own(struct suspect *suspect, const struct job *job, const struct baseline *baseline,
                       int64_t least_ns);

/* Whether what a rank was late by there may be a receive that the recorder leaves out. */
int is_hidden_pair(const struct job *job, const struct baseline *baseline,
                   const struct job_operation *operation);

#endif

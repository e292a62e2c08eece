#ifndef NCCLPROF_DIAGNOSE_RULES_NOISE_H
#define NCCLPROF_DIAGNOSE_RULES_NOISE_H

#include "diagnose/evidence_network.h"

/*
 * Whether a suspicion may be noise: asks the rules. `worth`: of suspect_worth_shown. `slowness`: of a
 * network.
 */
void suspect_ask_noise(struct suspect *suspect, double worth, const struct slowness *slowness,
                       const struct job *job, const struct baseline *baseline);

#endif

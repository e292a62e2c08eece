#ifndef NCCLPROF_DIAGNOSE_WORTH_H
#define NCCLPROF_DIAGNOSE_WORTH_H

#include "diagnose/lengthening.h"

/* What a suspicion amounts to, as shares of a median step and of all steps. */

/* A time in each of the steps concerned, as a share of a median step. */
double suspect_share(const struct suspect *suspect, const struct baseline *baseline, int64_t time_ns);

/*
 * What a suspicion is worth in each of the steps concerned, as a share of a median step: what the job would
 * gain, or what its partners waited for it where that is more: of two branches of a job that are slow by as
 * much, neither gains anything alone.
 */
double suspect_worth(const struct suspect *suspect, const struct baseline *baseline);

/* The same; of a network what its steps were longer, where that says more than the replay. */
double suspect_worth_shown(const struct suspect *suspect, const struct lengthening *lengthening,
                           const struct job *job, const struct baseline *baseline);

/* How many steps it has, as a share of those after the warm-up. */
double suspect_extent(const struct suspect *suspect, const struct baseline *baseline);

/* In every step there is, the warm-up left out: only the comparison with peers speaks for it. */
int suspect_is_steady(const struct suspect *suspect, const struct baseline *baseline);

/* How many times what it amounts to its steps were longer, for no other reason that is known. */
double suspect_longer(const struct suspect *suspect, const struct lengthening *lengthening);

#endif

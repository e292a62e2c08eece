#ifndef NCCLPROF_TESTS_SUPPORT_SUSPICIONS_H
#define NCCLPROF_TESTS_SUPPORT_SUSPICIONS_H

#include "support/judged.h"

#include <stdint.h>

/*
 * Suspicions for judge_suspect, from step 4 on: the total worth, the likelihood and the distance to other
 * steps of each.
 */

static inline struct suspect steps_of(enum finding_kind kind, int32_t steps, int64_t gain_ns, double chance,
                                      double ahead)
{
    return (struct suspect){.kind = kind,
                            .first_step = 4,
                            .last_step = 3 + steps,
                            .counted_steps = steps,
                            .gain_ns = gain_ns,
                            .chance = chance,
                            .ahead = ahead};
}

#endif

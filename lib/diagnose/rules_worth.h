#ifndef NCCLPROF_DIAGNOSE_RULES_WORTH_H
#define NCCLPROF_DIAGNOSE_RULES_WORTH_H

#include "diagnose/lengthening.h"

/* Whether a suspicion is worth saying: asks the rules. `worth`: of suspect_worth_shown. */
void suspect_ask_worth(struct suspect *suspect, const struct suspects *suspects, double worth,
                       const struct lengthening *lengthening, const struct job *job,
                       const struct baseline *baseline, const struct diagnose_options *options);

#endif

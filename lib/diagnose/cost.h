#ifndef NCCLPROF_DIAGNOSE_COST_H
#define NCCLPROF_DIAGNOSE_COST_H

#include "diagnose/lengthening.h"

/*
 * What the replay says, as far as the length of the steps allows; and with its part of what all suspicions
 * leave of that, unless it is so much that something else made them longer. Where the recorder leaves out by
 * what waiting is passed on, what partners waited takes the replay's place if that is more.
 */
int64_t cost_of(const struct suspects *suspects, const struct suspect *suspect,
                const struct lengthening *lengthening, const struct job *job, enum confidence confidence);

#endif

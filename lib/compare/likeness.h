#ifndef NCCLPROF_COMPARE_LIKENESS_H
#define NCCLPROF_COMPARE_LIKENESS_H

#include "compare/rule.h"

/* Whether a bar (COMPARE_RANKS to COMPARE_CALLED) stands between two runs. */
int likeness_bars(const struct measured_run *const runs[2], enum compare_rule rule);

/* How many communicators have their data on the network in one run only, of those that both have. */
size_t likeness_moved(const struct measured_run *const runs[2]);

#endif

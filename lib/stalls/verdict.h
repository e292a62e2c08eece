#ifndef NCCLPROF_STALLS_VERDICT_H
#define NCCLPROF_STALLS_VERDICT_H

#include "base/error.h"
#include "stalls/stalls.h"

/* Gives every edge its verdict. */
int stalls_judge(struct stalls *stalls, const struct stalls_options *options, struct error *error);

const char *stalls_verdict_name(enum stalls_verdict verdict);

#endif

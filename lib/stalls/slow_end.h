#ifndef NCCLPROF_STALLS_SLOW_END_H
#define NCCLPROF_STALLS_SLOW_END_H

#include "stalls/judge.h"

/* Says of slow links whether one of their ends is to blame. -1: memory is out. */
int judge_blame_ends(struct judge *judge);

#endif

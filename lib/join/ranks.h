#ifndef NCCLPROF_JOIN_RANKS_H
#define NCCLPROF_JOIN_RANKS_H

#include "join/work.h"

/* Runs, job ranks, global ranks, communicator sizes and labels. */
int work_find_ranks(struct work *work, struct error *error);

#endif

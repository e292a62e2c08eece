#ifndef NCCLPROF_JOIN_SPLIT_BY_SHAPE_H
#define NCCLPROF_JOIN_SPLIT_BY_SHAPE_H

#include "join/work.h"

/*
 * Members of split processes (split_by_clock.h) that have no rank yet, by the regular shape of the job, once
 * global ranks are known. -1: out of memory.
 */
int work_place_members(struct work *work);

/* Whether of some member it is not known which of its process's ranks it is, yet. */
int work_has_homeless(const struct work *work, size_t communicator);

#endif

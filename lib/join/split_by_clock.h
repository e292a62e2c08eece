#ifndef NCCLPROF_JOIN_SPLIT_BY_CLOCK_H
#define NCCLPROF_JOIN_SPLIT_BY_CLOCK_H

#include "join/work.h"

/*
 * Makes the ranks of a process that appears several times in one communicator, one for each of its members
 * there, and gives them its members elsewhere where clocks tell which; the others' stay -1. -1 when memory is
 * out.
 */
int work_split_process(struct work *work, int32_t process);

#endif

#ifndef NCCLPROF_JOB_FIRST_MEETINGS_H
#define NCCLPROF_JOB_FIRST_MEETINGS_H

#include "job/start_ups.h"

/*
 * Communicators of whose making no log tells: who came when to the first operation on each. A start for each
 * of their ranks, of which `told` holds nothing; waits are known where all ranks began with the same
 * operation and each one's stay in it says how long it waited (arrival.h). By communicator; `*starts` is
 * freed by the caller. -1: no memory.
 */
int job_first_meetings(const struct job *job, struct job_start **starts, size_t *count);

#endif

#ifndef NCCLPROF_JOB_SHARED_PROCESSES_H
#define NCCLPROF_JOB_SHARED_PROCESSES_H

#include "job/job.h"

/*
 * All operations are laid out: marks the ranks of processes whose ranks are not all told apart. One without
 * operations, as of a communicator that nobody used, hides nobody's. Not 0: out of memory.
 */
int job_find_parts(struct job *job);

#endif

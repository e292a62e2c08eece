#ifndef NCCLPROF_JOB_THREADS_H
#define NCCLPROF_JOB_THREADS_H

#include "base/parallel.h"
#include "job/job.h"

/* Instances are gone through in pieces of so many. */
enum { INSTANCES_A_PIECE = 1024 };

/* How many threads are worth their while in a pass over the operations of a job: no more than it has. */
size_t job_threads(const struct job *job);

#endif

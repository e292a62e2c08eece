#ifndef NCCLPROF_JOB_STREAMS_H
#define NCCLPROF_JOB_STREAMS_H

#include "job/job.h"

/* Finds the groups of a rank's operations and what came before each on its stream. -1 when memory is out. */
int job_chain_rank(struct job *job, struct job_rank *rank);

#endif

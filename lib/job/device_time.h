#ifndef NCCLPROF_JOB_DEVICE_TIME_H
#define NCCLPROF_JOB_DEVICE_TIME_H

#include "job/job.h"

/* Puts all times of a rank on its device timeline. -1 when memory is out. */
int job_map_rank(struct job *job, struct job_rank *rank);

#endif

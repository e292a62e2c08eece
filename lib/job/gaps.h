#ifndef NCCLPROF_JOB_GAPS_H
#define NCCLPROF_JOB_GAPS_H

#include "job/job.h"

/* Counts the operations that are absent between others of their sequence. */
int job_count_gaps(struct job *job, struct error *error);

#endif

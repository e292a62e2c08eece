#ifndef NCCLPROF_JOB_EARLY_STOPS_H
#define NCCLPROF_JOB_EARLY_STOPS_H

#include "job/job.h"

/* Lets operations end later whose kernels noted their stop early; *mended says whether any was. */
int job_mend_ends(struct job *job, int *mended, struct error *error);

/* Lets an operation end later, but not after the next of its stream began (`next_ns`); whether it does. */
int job_end_later(struct job *job, int32_t at, int64_t end, int64_t next_ns);

#endif

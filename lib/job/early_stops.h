#ifndef NCCLPROF_JOB_EARLY_STOPS_H
#define NCCLPROF_JOB_EARLY_STOPS_H

#include "job/job.h"

/* Lets operations end later whose kernels noted their stop early; *mended says whether any was. */
int job_mend_ends(struct job *job, int *mended, struct error *error);

#endif

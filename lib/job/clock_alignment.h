#ifndef NCCLPROF_JOB_CLOCK_ALIGNMENT_H
#define NCCLPROF_JOB_CLOCK_ALIGNMENT_H

#include "job/job.h"

/* Offsets between the clocks of the ranks. */
int job_align_clocks(struct job *job, struct error *error);

#endif

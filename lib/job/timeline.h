#ifndef NCCLPROF_JOB_TIMELINE_H
#define NCCLPROF_JOB_TIMELINE_H

#include "job/job.h"

/* Puts all times on timelines, aligns the clocks and measures own times and transfers. */
int job_build_timelines(struct job *job, struct error *error);

#endif

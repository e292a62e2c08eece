#ifndef NCCLPROF_JOB_ISSUE_ORDER_H
#define NCCLPROF_JOB_ISSUE_ORDER_H

#include "job/job.h"

/*
 * Puts operations, read in order of their ids, by rank in order of issue. *places, unless NULL,
 * tells where each went and is the caller's to free. -1 when memory is out.
 */
int job_lay_out(struct job *job, int32_t **places);

#endif

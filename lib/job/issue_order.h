#ifndef NCCLPROF_JOB_ISSUE_ORDER_H
#define NCCLPROF_JOB_ISSUE_ORDER_H

#include "job/job.h"

/* Puts operations, as they were read, by rank in order of issue: fills job.read_order. -1 when memory is out.
 */
int job_lay_out(struct job *job);

#endif

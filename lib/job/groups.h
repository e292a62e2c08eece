#ifndef NCCLPROF_JOB_GROUPS_H
#define NCCLPROF_JOB_GROUPS_H

#include "job/job.h"

/*
 * Whether two operations, one after the other in order of issue, are of one group call:
 * point-to-point operations of one call are one kernel. They have their call in common, or the second began
 * before the first was handed over.
 */
int job_same_group(const struct job *job, size_t before, size_t after);

/* Whether others were called with it as one (streams.c finds the groups). */
int job_is_grouped(const struct job *job, int32_t operation);

/* The operation of a member's group that held the stream longest, as far as is known by now. */
int32_t job_last_of_group(const struct job *job, int32_t member);

#endif

#ifndef NCCLPROF_JOB_ESTIMATED_ENDS_H
#define NCCLPROF_JOB_ESTIMATED_ENDS_H

#include "job/job.h"

/*
 * Kernels that note when they began and not when they ended (NVIDIA/nccl#1973), and have no proxy operations
 * to say it: an operation is over when the next of its stream begins, at the latest, and so it is for those
 * that left it with the rank. In common time the earliest such begin is the end of all members of a full
 * exchange, that of either side the end of a pair, and the latest of its pairs the end of a group. By as much
 * as that is too late all have too little own time; what one rank has more than the others stays (ends:
 * ENDS_ESTIMATED). Only where most kernels of a job note no end: else those that do tell who waited, and
 * estimates blur it. Wants streams and clocks. -1 when memory is out.
 */
int job_estimate_ends(struct job *job, int *estimated);

#endif

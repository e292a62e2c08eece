#ifndef NCCLPROF_JOB_ASTRAY_KERNELS_H
#define NCCLPROF_JOB_ASTRAY_KERNELS_H

#include "job/job.h"

/*
 * Kernels whose times are those of another operation: they began before their own was called, by clocks that
 * job_map_rank aligned. Host and GPU have then counted apart, on all ranks of a communicator and from some
 * operation on: what kernels of that communicator say is forgotten. To be called while drafts tell when
 * starts were noticed. -1: no memory.
 */
int job_forget_astray_kernels(struct job *job);

#endif

#ifndef NCCLPROF_JOB_SHARED_KERNELS_H
#define NCCLPROF_JOB_SHARED_KERNELS_H

#include "job/job.h"

/*
 * Sends and receives of one group call share a kernel, which notes its stop when a part of its threads is
 * done: what a receive waited for after that seems to be own time of the next operation. Clocks of two ranks
 * often do not tell when a sender came (early_stops.c), but what both did since they last met does: where two
 * ranks sent to each other in one call, or were in one collective, they went on at once, and the one that
 * took longer until the next such call came later to it, by the difference. A receive ends when its sender
 * had come, at the least. Calls are gone through in order, so that each begins from where the one before
 * really ended. *mended says whether any does so later than recorded.
 */
int job_mend_shared_kernels(struct job *job, int *mended, struct error *error);

#endif

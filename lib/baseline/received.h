#ifndef NCCLPROF_BASELINE_RECEIVED_H
#define NCCLPROF_BASELINE_RECEIVED_H

#include "job/job.h"

/*
 * What the operation before one on its stream, or the group of sends and receives that is, brought its rank:
 * of a group what was received, of a collective its size; bytes. Load that is data: how long a rank works
 * after that goes with it. The expert that is sent more tokens has more to do, and no GPU is slow for it.
 * TIME_UNKNOWN where there is none, or sizes are not known.
 */
int64_t received_bytes(const struct job *job, const struct job_operation *operation);

#endif

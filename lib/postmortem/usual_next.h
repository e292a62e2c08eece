#ifndef NCCLPROF_POSTMORTEM_USUAL_NEXT_H
#define NCCLPROF_POSTMORTEM_USUAL_NEXT_H

#include "job/job.h"

/*
 * What a rank usually calls after what it called last: the operation of its own record that followed the
 * longest run of calls like its last ones, the latest of several; -1 where nothing like its last call came
 * before. Calls are alike in communicator, function, size, peer and line of the program. Wants job->calls.
 */
int32_t usual_next(const struct job *job, int32_t rank);

#endif

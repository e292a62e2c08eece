#ifndef NCCLPROF_JOB_CALL_TIMES_H
#define NCCLPROF_JOB_CALL_TIMES_H

#include "job/job.h"

/*
 * When operations ran, of recorders that tell when each was called and how long it took on the GPU, and no
 * more (Flight Recorder with timing). In a full exchange, and between a send and its receive, nobody ends
 * before all have come, and then nearly at once: all have one end, and began by their durations before it.
 * That end is not before any member's call plus its duration, nor before the end of what the communicator did
 * before plus the longest duration, since that is one stream. The least of that is taken: by as much as it is
 * too early, all members are alike, so that what one rank has more than the others stays, but for a
 * transfer (the shortest duration): by so much members may leave apart. Calls are compared as the hosts'
 * clocks have them; operations without a duration have no times, and none has where ranks communicate in
 * several communicators within a step, or hosts run steps ahead of their GPUs. Wants operations laid out,
 * with their instances' members (job->calls). -1 when memory is out.
 */
int job_time_calls(struct job *job);

#endif

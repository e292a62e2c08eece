#ifndef NCCLPROF_JOB_LOST_FILES_H
#define NCCLPROF_JOB_LOST_FILES_H

#include "job/job.h"

/* Who is in the communicators is known (store/membership.h): marks the ranks whose file of some communicator
 * may have been lost. Not 0: out of memory. */
int job_find_lost_files(struct job *job);

#endif

#ifndef NCCLPROF_ANALYSE_TAILS_H
#define NCCLPROF_ANALYSE_TAILS_H

#include "analyse/job.h"

/*
 * Fills in tail_step of the ranks of a job whose operations are loaded. Where others got past what nobody
 * gets past alone, and a rank's record of the communicator ends before it, its file was cut: what it did
 * there meanwhile looks like its own time. Recorders of finished operations lose some anywhere, and are left
 * out. -1 when memory is out.
 */
int job_find_tails(struct job *job);

#endif

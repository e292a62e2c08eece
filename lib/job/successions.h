#ifndef NCCLPROF_JOB_SUCCESSIONS_H
#define NCCLPROF_JOB_SUCCESSIONS_H

#include "job/job.h"

/*
 * Operations are laid out: which communicators were made anew of which (model/succession.h), by the order in
 * which their first rank issued what it called on them; and which are of the ranks that were left of a job.
 * -1 when memory is out.
 */
int job_find_successions(struct job *job);

#endif

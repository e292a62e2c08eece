#ifndef NCCLPROF_JOB_STAGES_H
#define NCCLPROF_JOB_STAGES_H

#include "job/job.h"

/*
 * For recorders that leave point-to-point operations out: ranks that meet in communicators narrower than the
 * job are of one stage; stages of a pipeline meet in nothing but communicators of all ranks.
 */

/*
 * By rank, the least rank of its stage; where there are no narrower communicators to tell stages by, all are
 * of one. Owned by the caller; NULL when memory is out.
 */
int32_t *stages_find(const struct job *job);

/* Fills in job->in_stages. -1 when memory is out. */
int job_find_stages(struct job *job);

/* Whether what stages send each other is left out: waiting passes on by what nothing tells. */
int job_hides_pairs_of_stages(const struct job *job);

#endif

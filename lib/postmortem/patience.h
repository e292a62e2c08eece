#ifndef NCCLPROF_POSTMORTEM_PATIENCE_H
#define NCCLPROF_POSTMORTEM_PATIENCE_H

#include "job/job.h"

struct passing;

/*
 * Whether somebody waits in an operation that its GPU began for longer than any operation or step of its rank
 * ever took (but the first step), when its record ends, on the host's clock. Then the job hung, and was not
 * merely stopped while it ran: whoever waits in a healthy job has waited as long before, or nearly.
 */
int somebody_waits_longer_than_ever(const struct passing *passing);

/* The last that is known of a rank, on the host's clock: a call, or what its recorder wrote beside; 0:
 * nothing.
 */
int64_t record_end(const struct job *job, const struct job_rank *rank);

#endif

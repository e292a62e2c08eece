#ifndef NCCLPROF_JOB_TRANSFERS_H
#define NCCLPROF_JOB_TRANSFERS_H

#include "job/job.h"

/* How long it was on the device, by its rank's clock; 0 where it ended before it began, TIME_UNKNOWN. */
int64_t job_duration(const struct job_operation *operation);

/*
 * How long the receive of a pair lasted; INT64_MAX of anything else, and where the trace does not tell: it
 * was called with others as one, only the host says when it ended, or only a kernel of which a channel tells
 * no stop.
 */
int64_t job_received_ns(const struct job *job, const struct job_instance *instance);

/*
 * Lengthens the transfers of pairs by what their network steps tell, or the clocks where there are no such
 * steps; shortens those that end with others, by what these waited for. Timelines and clocks stand. -1: no
 * memory.
 */
int job_measure_pairs(struct job *job);

#endif

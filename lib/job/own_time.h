#ifndef NCCLPROF_JOB_OWN_TIME_H
#define NCCLPROF_JOB_OWN_TIME_H

#include "job/job.h"

/*
 * An operation of which only the duration is recorded began when the one before it on its stream had ended
 * and it was enqueued.
 */
void job_infer_start(struct job *job, size_t operation);

/* Fills in its own time, from what is known of its stream by now. */
void job_measure_own(struct job *job, struct job_operation *operation);

/*
 * Of its own time, what had passed since any of the 64 operations issued before it ended, on whatever stream,
 * or let go of its stream if it held that longer. Streams wait for one another, and a trace does not tell
 * where: so much at least was its own. TIME_UNKNOWN.
 */
int64_t job_idle_time(const struct job *job, const struct job_operation *operation);

/*
 * How many of these times would be less had more operations been looked at: one before those ended later. One
 * that was not over yet hides others.
 */
int64_t job_bounded_idle_times(const struct job *job);

/*
 * Lateness: how much of that had passed when it was enqueued, the host's part. Where the end before it is
 * only estimated, by how much later than that it was enqueued, less than 0 where it was sooner: the stream
 * may have been free long before. Not more than its GPU did not compute of it, where that is known.
 * TIME_UNKNOWN where either is not known.
 */
int64_t job_lateness(const struct job *job, const struct job_operation *operation);

/* The same of an operation whose idle time is known. */
int64_t job_lateness_in(const struct job *job, const struct job_operation *operation, int64_t idle_ns);

/* Whether it is own time since an end that is only estimated (estimated_ends.h). */
int job_is_own_estimated(const struct job *job, const struct job_operation *operation);

#endif

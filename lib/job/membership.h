#ifndef NCCLPROF_JOB_MEMBERSHIP_H
#define NCCLPROF_JOB_MEMBERSHIP_H

#include "job/job.h"

/* Who is in a communicator. */

/* Numbers come in ascending order; the last of several wins, and one that the size rules out has no seat. */
int job_seat(struct job_communicator *communicator, int64_t number, int32_t rank);

/* The members that recorded something are seated: adds those that files list beside them, where the list does
 * not contradict the seats. -1: out of memory. */
int job_seat_told(const struct job *job, struct job_communicator *communicator, const int64_t *members,
                  size_t count);

/* All members are seated: says where the ranks are that recorded nothing. */
void job_seat_silent_ranks(struct job *job);

/* The job rank (index) of a global rank; -1 unknown. */
int32_t job_rank_numbered(const struct job *job, int64_t global_rank);

/* The job rank (index) of a communicator's rank; -1 unknown. */
int32_t job_rank_in(const struct job *job, int64_t communicator, int64_t number);

#endif

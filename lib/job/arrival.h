#ifndef NCCLPROF_JOB_ARRIVAL_H
#define NCCLPROF_JOB_ARRIVAL_H

#include "job/job.h"

/*
 * Who came when to an operation, told without comparing clocks: by how long each member stayed, on its own
 * GPU's clock, in a part of the operation that nobody leaves before all have come. The shorter, the later it
 * came, and the difference of two stays is what the one waited for the other.
 *
 * That part is the initial sync of a symmetric kernel, where all members tell it (is_synced): a barrier,
 * whatever the function, and what a member computes or waits for behind it is no part of it. Else it is the
 * whole operation, which nobody finishes before all have come in full exchanges and pairs only.
 */

/* Whether the stay in an instance's operation of that function (a pair's two sides differ) tells anything. */
int arrival_is_told(const struct job_instance *instance, enum function function);

/* The stay of an operation (its number in the job); TIME_UNKNOWN. */
int64_t arrival_stay_ns(const struct job *job, int32_t operation);

/*
 * The operation (its number in the job) of the last to arrive, who stayed for the shortest, the first of
 * equals; -1 where not all members' stays tell that, or there is one only.
 */
int32_t arrival_last(const struct job *job, const struct job_instance *instance);

/*
 * The transfer of an instance: the shortest that a member took, its waiting for the last to arrive aside.
 * TIME_UNKNOWN where that is not known of all of several.
 */
int64_t arrival_transfer_ns(const struct job *job, const struct job_instance *instance);

/* Marks the instances that are synced. */
void job_find_synced(struct job *job);

#endif

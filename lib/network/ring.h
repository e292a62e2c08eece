#ifndef NCCLPROF_NETWORK_RING_H
#define NCCLPROF_NETWORK_RING_H

#include "job/job.h"

/*
 * Where a ring had one slow link, the order in which its members were done tells who is at neither end of it.
 * Marks those in `cleared`, by operation, of an instance that was slow by `slow_ns`; none where the order
 * does not tell. -1 when memory is out.
 */
int ring_clear_members(const struct job *job, const struct job_instance *instance, int64_t slow_ns,
                       unsigned char *cleared);

#endif

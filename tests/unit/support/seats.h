#ifndef NCCLPROF_TESTS_UNIT_SUPPORT_SEATS_H
#define NCCLPROF_TESTS_UNIT_SUPPORT_SEATS_H

#include "base/base.h"
#include "job/internal.h"
#include "job/job.h"
#include "store/internal.h"
#include "store/store.h"

#include <stddef.h>

/* Sets, for each communicator of a job, the members that recorded nothing, as the loader of the job does. */
static inline void seat_silent_ranks(struct job *job)
{
    struct run_ranks ranks = job_run_ranks(job);
    for (size_t i = 0; i < job->communicator_count; i++)
        communicator_place_silent_ranks(&ranks, run_silent_ranks(&ranks), &job->communicators[i]);
}

#endif

#include "job/timeline.h"

#include "base/array.h"
#include "job/arrival.h"
#include "job/clock_alignment.h"
#include "job/device_time.h"
#include "job/early_stops.h"
#include "job/estimated_ends.h"
#include "job/groups.h"
#include "job/own_time.h"
#include "job/shared_kernels.h"
#include "job/streams.h"
#include "job/transfers.h"

#include <stdlib.h>

/*
 * Puts all times of a rank on one device timeline and measures own time: the gap between an operation's start
 * and the end of the one before it on its stream.
 */

/* What the drafts say of the few that held their stream longest is still asked for. */
static int keep_holds(struct job *job)
{
    for (size_t i = 0; i < job->operation_count; i++)
        job->hold_count += job->operations[i].held;
    job->holds = array_new(job->hold_count, sizeof *job->holds);
    if (!job->holds)
        return -1;
    for (size_t i = 0, count = 0; i < job->operation_count; i++)
        if (job->operations[i].held)
            job->holds[count++] = (struct job_hold){(int64_t)i, job->drafts.free_ns[i]};
    return 0;
}

static void drop(int64_t **list)
{
    free(*list);
    *list = NULL;
}

/* After that who was issued when is not asked for any more, nor on which stream. */
static int map_and_chain(struct job *job)
{
    int failed = 0;
    for (size_t i = 0; !failed && i < job->rank_count; i++)
        failed = job_map_rank(job, &job->ranks[i]);
    drop(&job->drafts.noticed_ns);
    for (size_t i = 0; !failed && i < job->rank_count; i++)
        failed = job_chain_rank(job, &job->ranks[i]);
    drop(&job->drafts.issued_ns);
    free(job->drafts.streams);
    job->drafts.streams = NULL;
    return failed;
}

int job_build_timelines(struct job *job, struct error *error)
{
    if (map_and_chain(job))
        return error_no_memory(error);
    for (size_t i = 0; i < job->operation_count; i++) {
        job_infer_start(job, i);
        job_measure_own(job, &job->operations[i]);
    }
    drop(&job->drafts.durations_ns);
    int mended, estimated;
    if (job_align_clocks(job, error) || job_mend_ends(job, &mended, error) ||
        job_mend_shared_kernels(job, &mended, error))
        return -1;
    if (job_estimate_ends(job, &estimated))
        return error_no_memory(error);
    for (size_t i = 0; (mended || estimated) && i < job->operation_count; i++) {
        struct job_operation *operation = &job->operations[i], *head = &job->operations[operation->group];
        if (operation == head && operation->previous >= 0)
            operation->previous = job_last_of_group(job, operation->previous);
        operation->previous = head->previous;
        job_measure_own(job, operation);
    }
    if (keep_holds(job))
        return error_no_memory(error);
    job_drafts_release(&job->drafts);
    job_find_synced(job);
    for (size_t i = 0; i < job->instance_count; i++)
        job->instances[i].transfer_ns = arrival_transfer_ns(job, &job->instances[i]);
    job_measure_pairs(job);
    return 0;
}

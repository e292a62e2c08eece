#include "job/timeline.h"

#include "base/array.h"
#include "job/arrival.h"
#include "job/astray_kernels.h"
#include "job/clock_alignment.h"
#include "job/device_time.h"
#include "job/early_stops.h"
#include "job/estimated_ends.h"
#include "job/groups.h"
#include "job/own_time.h"
#include "job/shared_kernels.h"
#include "job/streams.h"
#include "job/threads.h"
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

static int map_ranks(void *context, size_t worker, size_t first, size_t end)
{
    struct job *job = context;
    for (size_t i = first; i < end; i++)
        if (job_map_rank(job, &job->ranks[i]))
            return -1;
    return 0;
}

static int chain_ranks(void *context, size_t worker, size_t first, size_t end)
{
    struct job *job = context;
    for (size_t i = first; i < end; i++)
        if (job_chain_rank(job, &job->ranks[i]))
            return -1;
    return 0;
}

static int infer_ranks(void *context, size_t worker, size_t first, size_t end)
{
    struct job *job = context;
    for (size_t i = first; i < end; i++)
        for (size_t at = job->ranks[i].first; at < job->ranks[i].first + job->ranks[i].count; at++) {
            job_infer_start(job, at);
            job_measure_own(job, &job->operations[at]);
        }
    return 0;
}

/* The same of operations whose own or whose predecessors' ends are others now. */
static int measure_ranks_again(void *context, size_t worker, size_t first, size_t end)
{
    struct job *job = context;
    for (size_t i = first; i < end; i++)
        for (size_t at = job->ranks[i].first; at < job->ranks[i].first + job->ranks[i].count; at++) {
            struct job_operation *operation = &job->operations[at],
                                 *head = &job->operations[operation->group];
            if (operation == head && operation->previous >= 0)
                operation->previous = job_last_of_group(job, operation->previous);
            operation->previous = head->previous;
            job_measure_own(job, operation);
        }
    return 0;
}

static int measure_transfers(void *context, size_t worker, size_t first, size_t end)
{
    struct job *job = context;
    for (size_t i = first; i < end; i++)
        job->instances[i].transfer_ns = arrival_transfer_ns(job, &job->instances[i]);
    return 0;
}

/* No rank's timeline needs another's until clocks are aligned. */
static int for_ranks(struct job *job, parallel_piece piece)
{
    return parallel_for(job->rank_count, 1, job_threads(job), piece, job);
}

/* After that who was issued when is not asked for any more, nor on which stream. */
static int map_and_chain(struct job *job)
{
    int failed = for_ranks(job, map_ranks) || job_forget_astray_kernels(job);
    drop(&job->drafts.noticed_ns);
    failed = failed || for_ranks(job, chain_ranks);
    drop(&job->drafts.issued_ns);
    free(job->drafts.streams);
    job->drafts.streams = NULL;
    return failed;
}

int job_build_timelines(struct job *job, struct error *error)
{
    if (map_and_chain(job))
        return error_no_memory(error);
    int failed = for_ranks(job, infer_ranks), mended, estimated;
    drop(&job->drafts.durations_ns);
    if (failed)
        return error_no_memory(error);
    if (job_align_clocks(job, error) || job_mend_ends(job, &mended, error) ||
        job_mend_shared_kernels(job, &mended, error))
        return -1;
    if (job_estimate_ends(job, &estimated))
        return error_no_memory(error);
    if (((mended || estimated) && for_ranks(job, measure_ranks_again)) || keep_holds(job))
        return error_no_memory(error);
    job_drafts_release(&job->drafts);
    job_find_synced(job);
    if (parallel_for(job->instance_count, INSTANCES_A_PIECE, job_threads(job), measure_transfers, job) ||
        job_measure_pairs(job))
        return error_no_memory(error);
    return 0;
}

#include "job/astray_kernels.h"

#include "base/array.h"

#include <stdlib.h>

/*
 * The host's clock minus the GPU's is taken as the least seen over a block of operations and its neighbours
 * (device_time.c), which is no less than it is: so a call, on the GPU's clock, comes out too early, never too
 * late, but for what the clocks drift apart over these blocks. NVIDIA's example plugin measures the
 * frequency of its clock over some 10 ms, to 1 in 1000.
 */
enum { DRIFT_PER_MILLE = 1, NEIGHBOURS = 2 * JOB_DELAY_BLOCK };

/* The GPU's clock may advance in steps, and its launch be noted after it. */
enum { DOUBT_NS = 100000 };

/* A host that was held up between a launch and its note is one operation, and rare. */
enum { IMPOSSIBLE_LEAST = 3, IMPOSSIBLE_PART = 20 };

struct count {
    int32_t rank; /* that it is of; -1 */
    int64_t timed;
    int64_t impossible;
};

static int64_t issued_at(const struct job *job, size_t at, int64_t otherwise_ns)
{
    int64_t issued_ns = job->drafts.issued_ns[at];
    return issued_ns != TIME_UNKNOWN ? issued_ns : otherwise_ns;
}

/* How far the clocks may have drifted apart where the delay of an operation was measured. */
static int64_t drift_at(const struct job *job, const struct job_rank *rank, size_t at)
{
    size_t last = rank->first + rank->count - 1;
    size_t from = at - rank->first > NEIGHBOURS ? at - NEIGHBOURS : rank->first;
    size_t to = last - at > NEIGHBOURS ? at + NEIGHBOURS : last;
    int64_t here_ns = job->drafts.issued_ns[at];
    int64_t span_ns = issued_at(job, to, here_ns) - issued_at(job, from, here_ns);
    return span_ns > 0 ? span_ns / 1000 * DRIFT_PER_MILLE : 0;
}

static int is_timed(const struct job *job, size_t at)
{
    return job->drafts.noticed_ns[at] != TIME_UNKNOWN && job->drafts.issued_ns[at] != TIME_UNKNOWN &&
           job->operations[at].start_ns != TIME_UNKNOWN;
}

static int is_impossible(const struct job *job, const struct job_rank *rank, size_t at)
{
    int64_t early_ns = job->drafts.issued_ns[at] - job->operations[at].start_ns;
    return early_ns > DOUBT_NS && early_ns > DOUBT_NS + drift_at(job, rank, at);
}

static void count_rank(const struct job *job, int32_t rank, struct count *counts)
{
    const struct job_rank *of = &job->ranks[rank];
    for (size_t at = of->first; at < of->first + of->count; at++) {
        struct count *count = &counts[job->operations[at].communicator];
        if (!is_timed(job, at))
            continue;
        if (count->rank != rank)
            *count = (struct count){.rank = rank};
        count->timed++;
        count->impossible += is_impossible(job, of, at);
    }
}

/* After a rank was counted: in which of its communicators that was too often for chance. */
static int mark_astray(const struct job *job, int32_t rank, const struct count *counts,
                       unsigned char *is_astray)
{
    const struct job_rank *of = &job->ranks[rank];
    int found = 0;
    for (size_t at = of->first; at < of->first + of->count; at++) {
        int32_t communicator = job->operations[at].communicator;
        const struct count *count = &counts[communicator];
        if (count->rank == rank && count->impossible >= IMPOSSIBLE_LEAST &&
            count->impossible * IMPOSSIBLE_PART >= count->timed)
            found = is_astray[communicator] = 1;
    }
    return found;
}

static void forget(struct job *job, size_t at)
{
    struct job_operation *operation = &job->operations[at];
    operation->start_ns = operation->end_ns = TIME_UNKNOWN;
    operation->ends = ENDS_UNKNOWN;
    operation->incomplete = 0;
    job->drafts.free_ns[at] = TIME_UNKNOWN;
    job->timed_operations--;
}

static void forget_all(struct job *job, const unsigned char *is_astray)
{
    for (size_t at = 0; at < job->operation_count; at++)
        if (is_astray[job->operations[at].communicator] && job->drafts.noticed_ns[at] != TIME_UNKNOWN &&
            job->operations[at].start_ns != TIME_UNKNOWN)
            forget(job, at);
    job->astray_kernels |= ASTRAY_IMPOSSIBLE;
}

/* So many kernels began before their operation, by what one clock says of both, that none is believed. */
static int mark_all(const struct job *job, unsigned char *is_astray)
{
    if (job->kernels_before < IMPOSSIBLE_LEAST ||
        job->kernels_before < (int64_t)(job->operation_count / IMPOSSIBLE_PART))
        return 0;
    for (size_t i = 0; i < job->communicator_count; i++)
        is_astray[i] = 1;
    return 1;
}

int job_forget_astray_kernels(struct job *job)
{
    if (!job->drafts.noticed_ns) {
        job->astray_kernels |= job->kernels_before >= IMPOSSIBLE_LEAST ? ASTRAY_IMPOSSIBLE : 0;
        return 0;
    }
    struct count *counts = array_new(job->communicator_count, sizeof *counts);
    unsigned char *is_astray = array_new(job->communicator_count, 1);
    int has_memory = counts && is_astray, found = has_memory && mark_all(job, is_astray);
    for (size_t i = 0; has_memory && i < job->communicator_count; i++)
        counts[i].rank = -1;
    for (size_t i = 0; has_memory && i < job->rank_count; i++) {
        count_rank(job, (int32_t)i, counts);
        found |= mark_astray(job, (int32_t)i, counts, is_astray);
    }
    if (has_memory && found)
        forget_all(job, is_astray);
    free(counts);
    free(is_astray);
    return has_memory ? 0 : -1;
}

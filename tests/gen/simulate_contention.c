/*
 * Contention: other processes use the GPU or the CPU cores of a rank, too. A scheduler gives the GPU, and a
 * core, to one of them at a time, for a slice.
 *
 * GPU: slices of about 2 ms, as of NVIDIA's time slicing between processes. In the slices of the others no
 * kernel of the rank makes progress, be it computation or NCCL's, so ranks that feed through it wait inside
 * the operation.
 *
 * CPU: slices of 3 to 4 ms, as of Linux's scheduler. NCCL's proxy thread polls all the time, so it uses up
 * its slices and then waits for those of the others. Meanwhile it posts nothing, notices nothing, and notes
 * nothing: all network steps of the rank are late by that, in both directions, and so are its notes of
 * kernels. Recorded on ranks with contended cores: kernels are noted 2.2 to 6.7 ms late (medians); without
 * contention 0.06 ms (p99). The host's thread sleeps most of the time, for which the scheduler favours it: it
 * waits more seldom.
 */
#include "simulate.h"

#include <stdlib.h>

#define GPU_SLICE_NS 2000000
#define CPU_SLICE_NS 3500000
#define SPREAD 0.15    /* of the length of slices, up and down */
#define HOST_FAVOUR 4  /* the host's thread keeps its core this much longer, on average */
#define LATEST_NS 1e15 /* what never ends does not wait for a slice */

/* Where slices of the rank end and those of the others end, in turn. */
struct slices {
    int64_t *ends;
    int count, capacity;
};

static bool contends(const struct fault *fault, enum contended what)
{
    return fault->kind == (what == CONTENDED_GPU ? FAULT_GPU_SHARE : FAULT_CPU_SHARE);
}

static struct slices *slices_of(const struct fault *fault, int rank, enum contended what)
{
    int at = 0;
    while (fault->ranks[at] != rank)
        at++;
    return &fault->slices[at * CONTENDED + (int)what];
}

/* The next slice of the rank, and the next one of the others: `amount` percent of it, but in whole slices. */
static void slices_extend(const struct job *job, const struct fault *fault, int rank, enum contended what,
                          struct slices *slices)
{
    double slice = what == CONTENDED_GPU ? GPU_SLICE_NS : CPU_SLICE_NS, ratio = fault->amount / 100;
    double own = ratio < 1 ? slice / ratio : slice, others = ratio < 1 ? slice : slice * ratio;
    if (what == CONTENDED_HOST)
        own *= HOST_FAVOUR;
    for (int i = 0; i < 2; i++) {
        uint64_t at = (uint64_t)slices->count, who = (uint64_t)rank << 2 | (uint64_t)what;
        uint64_t seed = job->options.seed;
        double unit = random_unit(seed, DRAW_SLICE, who, at, 0);
        if (what == CONTENDED_HOST && i == 0)
            unit = random_exponential(seed, DRAW_SLICE, who, at, 0);
        else
            unit = 1 + SPREAD * (2 * unit - 1);
        double length = (i == 0 ? own : others) * unit;
        int64_t before = slices->count > 0 ? slices->ends[slices->count - 1] : 0;
        slices->ends = grow(slices->ends, &slices->capacity, slices->count + 1, sizeof(*slices->ends));
        slices->ends[slices->count++] = before + (int64_t)length + 1;
    }
}

/* The number of slices that have ended by then; even: one of the rank runs. At least four more are known. */
static int slices_before(const struct job *job, const struct fault *fault, int rank, enum contended what,
                         struct slices *slices, int64_t at)
{
    while (slices->count < 4 || slices->ends[slices->count - 4] <= at)
        slices_extend(job, fault, rank, what, slices);
    int first = 0, end = slices->count;
    while (first < end) {
        int middle = first + (end - first) / 2;
        if (slices->ends[middle] <= at)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

static const struct fault *fault_of(const struct job *job, int rank, int step, int phase, enum contended what)
{
    for (int i = 0; i < job->fault_count; i++) {
        const struct fault *fault = &job->faults[i];
        if (contends(fault, what) && fault->amount > 0 && fault_now(fault, step, phase) &&
            fault_on(fault, rank))
            return fault;
    }
    return NULL;
}

int64_t contended_until(const struct job *job, int rank, int step, int phase, enum contended what, int64_t at)
{
    const struct fault *fault = job->contended ? fault_of(job, rank, step, phase, what) : NULL;
    if (what != CONTENDED_GPU)
        at = fault_stopped_until(job, rank, at);
    if (fault == NULL || at < 0 || (double)at > LATEST_NS)
        return at;
    struct slices *slices = slices_of(fault, rank, what);
    int before = slices_before(job, fault, rank, what, slices, at);
    return before % 2 == 0 ? at : slices->ends[before];
}

int64_t contended_work(const struct job *job, int rank, int step, int phase, int64_t at, int64_t work_ns)
{
    const struct fault *fault = job->contended ? fault_of(job, rank, step, phase, CONTENDED_GPU) : NULL;
    if (fault == NULL || at < 0 || (double)at > LATEST_NS)
        return at + work_ns;
    struct slices *slices = slices_of(fault, rank, CONTENDED_GPU);
    int before = slices_before(job, fault, rank, CONTENDED_GPU, slices, at);
    int64_t now = before % 2 == 0 ? at : slices->ends[before];
    for (before += before % 2; now + work_ns > slices->ends[before]; before += 2) {
        work_ns -= slices->ends[before] - now;
        now = slices->ends[before + 1];
        if (slices->count < before + 4)
            slices_extend(job, fault, rank, CONTENDED_GPU, slices);
    }
    return now + work_ns;
}

void contention_prepare(struct job *job)
{
    for (int i = 0; i < job->fault_count; i++) {
        struct fault *fault = &job->faults[i];
        if (!contends(fault, CONTENDED_GPU) && !contends(fault, CONTENDED_HOST))
            continue;
        job->contended = true;
        fault->slices = allocate((size_t)fault->rank_count * CONTENDED, sizeof(*fault->slices));
    }
}

void contention_release(struct fault *fault)
{
    for (int i = 0; fault->slices != NULL && i < fault->rank_count * CONTENDED; i++)
        free(fault->slices[i].ends);
    free(fault->slices);
}

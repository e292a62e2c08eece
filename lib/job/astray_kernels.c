#include "job/astray_kernels.h"

#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>

/*
 * The host notices a start late, never early: the host's clock minus the GPU's is no more than each start
 * that was noticed says, and no more than that and what the clocks drift apart until then at any other time.
 * NVIDIA's example plugin measures the frequency of its clock over some 10 ms, which is off by 1 in 250, now
 * and then by several times that.
 */
enum { DRIFT_PART = 50 };

/* The GPU's clock may advance in steps, and a launch be noted after it, by some 100 us up to NCCL 2.26. */
enum { DOUBT_NS = 150000 };

/* A host that was held up between a launch and its note is one operation, and rare. */
enum { IMPOSSIBLE_LEAST = 3, IMPOSSIBLE_PART = 10 };

/* Of a communicator. */
struct count {
    int32_t rank; /* that the next two are of; -1 */
    int64_t timed;
    int64_t impossible;
    int64_t ranks; /* with timed operations */
    int64_t astray_ranks;
};

static int is_timed(const struct job *job, size_t at)
{
    return job->drafts.noticed_ns[at] != TIME_UNKNOWN && job->drafts.issued_ns[at] != TIME_UNKNOWN &&
           job->operations[at].start_ns != TIME_UNKNOWN;
}

/* When it was called, by the host's clock. */
static int64_t called_at(const struct job *job, size_t at)
{
    return job->drafts.issued_ns[at] + job_delay(job, &job->operations[at]);
}

/* When its start was noticed, by the host's clock. */
static int64_t noticed_at(const struct job *job, size_t at)
{
    return job->operations[at].start_ns + job->drafts.noticed_ns[at];
}

/* The most that the host's clock may be ahead at an operation, as `last` and the time since then say. */
static void bound_ahead(const struct job *job, size_t at, size_t *last, int64_t *ahead_ns, int64_t *most_ns)
{
    if (!is_timed(job, at))
        return;
    int64_t here_ns = job->drafts.noticed_ns[at];
    if (*last != SIZE_MAX) {
        int64_t apart_ns = noticed_at(job, at) - noticed_at(job, *last);
        int64_t drifted_ns = *ahead_ns + (apart_ns < 0 ? -apart_ns : apart_ns) / DRIFT_PART;
        here_ns = drifted_ns < here_ns ? drifted_ns : here_ns;
    }
    *ahead_ns = here_ns;
    *last = at;
    if (here_ns < *most_ns)
        *most_ns = here_ns;
}

/* By operation of a rank, from before and from behind. */
static void bound_rank(const struct job *job, const struct job_rank *rank, int64_t *most_ns)
{
    size_t last = SIZE_MAX;
    int64_t ahead_ns = 0;
    for (size_t i = 0; i < rank->count; i++) {
        most_ns[i] = INT64_MAX;
        bound_ahead(job, rank->first + i, &last, &ahead_ns, &most_ns[i]);
    }
    last = SIZE_MAX;
    for (size_t i = rank->count; i-- > 0;)
        bound_ahead(job, rank->first + i, &last, &ahead_ns, &most_ns[i]);
}

static int is_impossible(const struct job *job, size_t at, int64_t ahead_ns)
{
    return called_at(job, at) - (job->operations[at].start_ns + ahead_ns) > DOUBT_NS;
}

/* Whether a rank has too many for chance. */
static int is_too_often(const struct count *count)
{
    return count->impossible >= IMPOSSIBLE_LEAST && count->impossible * IMPOSSIBLE_PART >= count->timed;
}

static void count_rank(const struct job *job, int32_t rank, int64_t *most_ns, struct count *counts)
{
    const struct job_rank *of = &job->ranks[rank];
    bound_rank(job, of, most_ns);
    for (size_t i = 0; i < of->count; i++) {
        struct count *count = &counts[job->operations[of->first + i].communicator];
        if (!is_timed(job, of->first + i))
            continue;
        if (count->rank != rank) {
            count->ranks++;
            count->timed = count->impossible = 0;
        }
        count->rank = rank;
        count->astray_ranks -= is_too_often(count);
        count->timed++;
        count->impossible += is_impossible(job, of->first + i, most_ns[i]);
        count->astray_ranks += is_too_often(count);
    }
}

/*
 * All ranks of a communicator lose count alike. That most of its ranks have such kernels is no jump of one
 * process's clock.
 */
static int mark_astray(const struct job *job, const struct count *counts, unsigned char *is_astray)
{
    int found = 0;
    for (size_t i = 0; i < job->communicator_count; i++)
        if (2 * counts[i].astray_ranks > counts[i].ranks)
            found = is_astray[i] = 1;
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

static size_t longest_rank(const struct job *job)
{
    size_t longest = 0;
    for (size_t i = 0; i < job->rank_count; i++)
        longest = job->ranks[i].count > longest ? job->ranks[i].count : longest;
    return longest;
}

int job_forget_astray_kernels(struct job *job)
{
    if (!job->drafts.noticed_ns) {
        job->astray_kernels |= job->kernels_before >= IMPOSSIBLE_LEAST ? ASTRAY_IMPOSSIBLE : 0;
        return 0;
    }
    struct count *counts = array_new(job->communicator_count, sizeof *counts);
    unsigned char *is_astray = array_new(job->communicator_count, 1);
    int64_t *most_ns = array_new(longest_rank(job), sizeof *most_ns);
    int has_memory = counts && is_astray && most_ns, found = has_memory && mark_all(job, is_astray);
    for (size_t i = 0; has_memory && i < job->communicator_count; i++)
        counts[i].rank = -1;
    for (size_t i = 0; has_memory && i < job->rank_count; i++)
        count_rank(job, (int32_t)i, most_ns, counts);
    found |= has_memory && mark_astray(job, counts, is_astray);
    if (has_memory && found)
        forget_all(job, is_astray);
    free(counts);
    free(is_astray);
    free(most_ns);
    return has_memory ? 0 : -1;
}

/*
 * Corrects receives that share a kernel with other operations of a group call, and removes kernel times that
 * belong to other operations. Called by timeline.c.
 */
#include "base/base.h"
#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"

#include <stdint.h>
#include <stdlib.h>

/*
 * The time that each rank took from leaving the previous operation on its stream until a group call, indexed
 * by the first operation of the call.
 */
struct approaches {
    int64_t *took_ns;         /* owned; TIME_UNKNOWN */
    struct sort_entry *calls; /* owned: first operations; key: next_call */
    size_t count;
};

/* Whether an operation is a receive in a group whose data arrived at an unrecorded time. */
static int has_unknown_arrival(const struct job *job, size_t at)
{
    const struct job_operation *receive = &job->operations[at];
    return receive->function == FUNCTION_RECV && job_is_grouped(job, (int32_t)at) && !receive->all_taken &&
           receive->ends != ENDS_BY_PROXY && receive->start_ns != TIME_UNKNOWN &&
           job->instances[receive->instance].members == 2;
}

static int is_first(const struct job *job, size_t at)
{
    return job->operations[at].group == (int32_t)at && job_is_grouped(job, (int32_t)at);
}

/* How far a rank has come on a communicator. */
struct call_place {
    int32_t rank; /* the rank that was read last */
    int32_t step; /* its latest step, plus 1 */
    int64_t had;  /* calls in it so far */
};

/* Step and number in the step, so that a call that was lost does not shift those of later steps. */
static int64_t next_call(struct call_place *place, const struct job_operation *operation)
{
    if (place->rank != operation->rank)
        *place = (struct call_place){.rank = operation->rank};
    if (operation->step >= place->step) {
        place->step = operation->step + 1;
        place->had = 0;
    }
    return ((int64_t)place->step << 32) + place->had++;
}

/*
 * Lists the group calls of all ranks: first the first call of a step on each communicator, then the second,
 * and so on.
 */
static int list_calls(const struct job *job, struct approaches *approaches)
{
    struct call_place *places = array_new(job->communicator_count, sizeof *places);
    struct sort_entry *scratch = array_new(job->operation_count, sizeof *scratch);
    approaches->calls = array_new(job->operation_count, sizeof *approaches->calls);
    int failed = !places || !scratch || !approaches->calls;
    for (size_t i = 0; !failed && i < job->operation_count; i++)
        if (is_first(job, i))
            approaches->calls[approaches->count++] = (struct sort_entry){
                next_call(&places[job->operations[i].communicator], &job->operations[i]), (int32_t)i};
    if (!failed)
        sort_entries(approaches->calls, scratch, approaches->count);
    free(places);
    free(scratch);
    return failed ? -1 : 0;
}

static int64_t approach_of(const struct job *job, int32_t call)
{
    const struct job_operation *first = &job->operations[call];
    if (first->previous < 0 || first->start_ns == TIME_UNKNOWN || first->inferred)
        return TIME_UNKNOWN;
    int64_t free_ns = job->drafts.free_ns[job_last_of_group(job, first->previous)];
    return free_ns == TIME_UNKNOWN || free_ns > first->start_ns ? TIME_UNKNOWN : first->start_ns - free_ns;
}

/* The operation at the same position in the previous call as this one has in its own; NULL. */
static const struct job_operation *same_before(const struct job *job, const struct job_operation *operation)
{
    const struct job_operation *first = &job->operations[operation->group];
    const struct job_operation *call = &job->operations[job->operations[first->previous].group];
    const struct job_operation *same = call + (operation - first);
    if (same >= first || &job->operations[same->group] != call || same->function != operation->function ||
        same->communicator != operation->communicator)
        return NULL;
    const struct job_instance *then = &job->instances[same->instance];
    const struct job_instance *now = &job->instances[operation->instance];
    return then->sender == now->sender && then->receiver == now->receiver ? same : NULL;
}

static int sends_to(const struct job *job, size_t call, int32_t receiver)
{
    for (size_t i = call; i < job->operation_count && job->operations[i].group == (int32_t)call; i++)
        if (job->operations[i].function == FUNCTION_SEND &&
            job->instances[job->operations[i].instance].receiver == receiver)
            return 1;
    return 0;
}

/*
 * Whether two ranks left the operation before their call at the same time: it was a collective of both, or a
 * call in which both sent to each other, as they do in this one.
 */
static int left_together(const struct job *job, const struct job_operation *receive,
                         const struct job_operation *send)
{
    const struct job_operation *mine = &job->operations[job->operations[receive->group].previous];
    const struct job_operation *theirs = &job->operations[job->operations[send->group].previous];
    if (!function_is_point_to_point(mine->function))
        return mine->instance == theirs->instance && function_is_full_exchange(mine->function) &&
               mine->instance >= 0;
    const struct job_operation *received = same_before(job, receive), *sent = same_before(job, send);
    return received && sent && received->instance == sent->instance &&
           sends_to(job, (size_t)receive->group, send->rank);
}

static int correct_receive(struct job *job, const struct approaches *approaches, size_t at, int64_t next_ns)
{
    struct job_operation *receive = &job->operations[at];
    const struct job_instance *instance = &job->instances[receive->instance];
    const struct job_operation *send = job_member(job, instance, 0);
    if (send == receive)
        send = job_member(job, instance, 1);
    int64_t mine = approaches->took_ns[receive->group], theirs = approaches->took_ns[send->group];
    if (!job_is_grouped(job, (int32_t)(send - job->operations)) || mine == TIME_UNKNOWN ||
        theirs == TIME_UNKNOWN || !left_together(job, receive, send))
        return 0;
    int mended = theirs > mine && next_ns != TIME_UNKNOWN &&
                 receive->start_ns + (theirs - mine) > receive->end_ns &&
                 job_end_later(job, (int32_t)at, receive->start_ns + (theirs - mine), next_ns);
    if (mended || (theirs <= mine && receive->end_ns == TIME_UNKNOWN))
        receive->ends = ENDS_BY_SENDER;
    return mended;
}

/* When the next operation of its stream started; TIME_UNKNOWN. */
static int64_t next_start(const struct job *job, const int64_t *next, int32_t call)
{
    int64_t start_ns = TIME_UNKNOWN;
    for (size_t i = (size_t)call; i < job->operation_count && job->operations[i].group == call; i++)
        start_ns = next[i] != TIME_UNKNOWN ? next[i] : start_ns;
    return start_ns;
}

static int correct_call(struct job *job, const struct approaches *approaches, int32_t call, int64_t next_ns)
{
    int mended = 0;
    for (size_t i = (size_t)call; i < job->operation_count && job->operations[i].group == call; i++)
        if (has_unknown_arrival(job, i))
            mended |= correct_receive(job, approaches, i, next_ns);
    return mended;
}

/*
 * Processes the calls with the same key, from `first` on: first the time each rank took to reach it, then
 * what each waited for in it. Returns the index of the next key.
 */
static size_t correct_round(struct job *job, struct approaches *approaches, size_t first, const int64_t *next,
                            int *mended)
{
    size_t end = first;
    for (; end < approaches->count && approaches->calls[end].key == approaches->calls[first].key; end++)
        approaches->took_ns[approaches->calls[end].index] = approach_of(job, approaches->calls[end].index);
    for (size_t i = first; i < end; i++) {
        int32_t call = approaches->calls[i].index;
        *mended |= correct_call(job, approaches, call, next_start(job, next, call));
    }
    return end;
}

int job_correct_shared_kernels(struct job *job, int *mended, struct error *error)
{
    struct approaches approaches = {.took_ns = array_new(job->operation_count, sizeof *approaches.took_ns)};
    int64_t *next = job_next_starts(job);
    int failed = !approaches.took_ns || !next || list_calls(job, &approaches);
    for (size_t i = 0; !failed && i < job->operation_count; i++)
        approaches.took_ns[i] = TIME_UNKNOWN;
    for (size_t i = 0; !failed && i < approaches.count;)
        i = correct_round(job, &approaches, i, next, mended);
    free(approaches.took_ns);
    free(approaches.calls);
    free(next);
    return failed ? error_no_memory(error) : 0;
}

/*
 * The host notices a start late but never early. So the host's clock minus the GPU's clock is at most what
 * each noticed start shows, and at another time at most that plus the drift of the clocks in between.
 * NVIDIA's example plugin measures the frequency of its clock over about 10 ms, with an error of 1 in 250,
 * occasionally several times that.
 */
enum { DRIFT_PART = 50 };

/*
 * The GPU's clock may advance in steps, and a launch may be recorded after it happened; up to NCCL 2.26 by
 * about 100 us.
 */
enum { DOUBT_NS = 150000 };

/* A host that was delayed between a launch and its record affects one operation, and rarely. */
enum { IMPOSSIBLE_LEAST = 3, IMPOSSIBLE_PART = 10 };

/* Counts of a communicator. */
struct count {
    int32_t rank; /* that the next two counts belong to; -1 */
    int64_t timed;
    int64_t impossible;
    int64_t ranks; /* number with timed operations */
    int64_t misattributed_ranks;
};

static int is_timed(const struct job *job, size_t at)
{
    return job->drafts.noticed_ns[at] != TIME_UNKNOWN && job->drafts.issued_ns[at] != TIME_UNKNOWN &&
           job->operations[at].start_ns != TIME_UNKNOWN;
}

/* When an operation was called, on the host's clock. */
static int64_t called_at(const struct job *job, size_t at)
{
    return job->drafts.issued_ns[at] + job_delay(job, &job->operations[at]);
}

/* When its start was noticed, on the host's clock. */
static int64_t noticed_at(const struct job *job, size_t at)
{
    return job->operations[at].start_ns + job->drafts.noticed_ns[at];
}

/*
 * An upper bound of host clock minus GPU clock at an operation, from the bound at `last` and the time since
 * then.
 */
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

/* Sets the upper bound for each operation of a rank, from the operations before and after it. */
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

/* Whether a rank has too many impossible kernels for coincidence. */
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
        count->misattributed_ranks -= is_too_often(count);
        count->timed++;
        count->impossible += is_impossible(job, of->first + i, most_ns[i]);
        count->misattributed_ranks += is_too_often(count);
    }
}

/*
 * All ranks of a communicator miscount in the same way. If most of its ranks have such kernels, the reason is
 * not a jump of one process's clock.
 */
static int mark_misattributed(const struct job *job, const struct count *counts,
                              unsigned char *is_misattributed)
{
    int found = 0;
    for (size_t i = 0; i < job->communicator_count; i++)
        if (2 * counts[i].misattributed_ranks > counts[i].ranks)
            found = is_misattributed[i] = 1;
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

static void forget_all(struct job *job, const unsigned char *is_misattributed)
{
    for (size_t at = 0; at < job->operation_count; at++)
        if (is_misattributed[job->operations[at].communicator] &&
            job->drafts.noticed_ns[at] != TIME_UNKNOWN && job->operations[at].start_ns != TIME_UNKNOWN)
            forget(job, at);
    job->misattributed_kernels |= MISATTRIBUTED_IMPOSSIBLE;
}

/*
 * If this many kernels began before their operation on one and the same clock, none of the kernel times is
 * trusted.
 */
static int mark_all(const struct job *job, unsigned char *is_misattributed)
{
    if (job->kernels_before < IMPOSSIBLE_LEAST ||
        job->kernels_before < (int64_t)(job->operation_count / IMPOSSIBLE_PART))
        return 0;
    for (size_t i = 0; i < job->communicator_count; i++)
        is_misattributed[i] = 1;
    return 1;
}

static size_t longest_rank(const struct job *job)
{
    size_t longest = 0;
    for (size_t i = 0; i < job->rank_count; i++)
        longest = job->ranks[i].count > longest ? job->ranks[i].count : longest;
    return longest;
}

int job_remove_misattributed_kernels(struct job *job)
{
    if (!job->drafts.noticed_ns) {
        job->misattributed_kernels |= job->kernels_before >= IMPOSSIBLE_LEAST ? MISATTRIBUTED_IMPOSSIBLE : 0;
        return 0;
    }
    struct count *counts = array_new(job->communicator_count, sizeof *counts);
    unsigned char *is_misattributed = array_new(job->communicator_count, 1);
    int64_t *most_ns = array_new(longest_rank(job), sizeof *most_ns);
    int has_memory = counts && is_misattributed && most_ns,
        found = has_memory && mark_all(job, is_misattributed);
    for (size_t i = 0; has_memory && i < job->communicator_count; i++)
        counts[i].rank = -1;
    for (size_t i = 0; has_memory && i < job->rank_count; i++)
        count_rank(job, (int32_t)i, most_ns, counts);
    found |= has_memory && mark_misattributed(job, counts, is_misattributed);
    if (has_memory && found)
        forget_all(job, is_misattributed);
    free(counts);
    free(is_misattributed);
    free(most_ns);
    return has_memory ? 0 : -1;
}

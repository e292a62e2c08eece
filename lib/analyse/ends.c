#include "analyse/load.h"

#include <stdlib.h>

/* Kernels that note their stop before their operation is over. */

/*
 * An AllReduce by a tree. NCCL splits the threads of such a kernel into those that reduce up
 * the tree and those that broadcast down, and notes the kernel's stop when the first kind is done: a leaf has
 * its stop once it has passed its data on, whoever is missing (src/device/all_reduce.h, runTreeSplit). The
 * root's stop is the operation's. So where the clocks are aligned all members end with the last one, or when
 * the next operation of their stream begins, if that is sooner.
 */

/* The end of the last member, in common time; TIME_UNKNOWN where that of a member is. */
static int64_t last_end(const struct job *job, const struct job_instance *instance)
{
    int64_t last = TIME_UNKNOWN;
    for (int32_t i = 0; i < instance->members; i++) {
        const struct job_operation *member = job_member(job, instance, i);
        int64_t end = job_common_time(job, member, member->end_ns);
        if (!member->is_tree || end == TIME_UNKNOWN)
            return TIME_UNKNOWN;
        if (last == TIME_UNKNOWN || end > last)
            last = end;
    }
    return last;
}

static int mend_tree(struct job *job, const struct job_instance *instance, const int64_t *next)
{
    int mended = 0;
    int64_t last = instance->members == instance->expected ? last_end(job, instance) : TIME_UNKNOWN;
    for (int32_t i = 0; last != TIME_UNKNOWN && i < instance->members; i++) {
        int32_t at = job_member_at(job, instance, i);
        struct job_operation *member = &job->operations[at];
        int64_t end = member->end_ns + (last - job_common_time(job, member, member->end_ns));
        if (next[at] != TIME_UNKNOWN && next[at] < end)
            end = next[at];
        if (end <= member->end_ns)
            continue;
        member->end_ns = end;
        if (job->drafts[at].free_ns < end)
            job->drafts[at].free_ns = end;
        mended = 1;
    }
    return mended;
}

/* The earliest, by the clocks, at which all members were there, as the clock of one of them has it. */
static int64_t all_there(const struct job *job, const struct job_instance *instance,
                         const struct job_operation *member)
{
    int64_t latest = TIME_UNKNOWN, mine = job_common_time(job, member, member->start_ns);
    for (int32_t i = 0; mine != TIME_UNKNOWN && i < instance->members; i++) {
        const struct job_operation *other = job_member(job, instance, i);
        int64_t start = job_common_time(job, other, other->start_ns);
        if (other == member || start == TIME_UNKNOWN)
            continue;
        start += member->start_ns - mine - job_clock_doubt(job, member->rank, other->rank);
        if (latest == TIME_UNKNOWN || start > latest)
            latest = start;
    }
    return latest;
}

/*
 * Where the algorithm is not told, a stop before all members were there, beyond the doubt of the clocks, was
 * that of a tree's leaf: nobody is done before everybody has come, nor does the next operation of the stream
 * begin.
 */
static int mend_early_stops(struct job *job, const struct job_instance *instance, const int64_t *next)
{
    int mended = 0;
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t at = job_member_at(job, instance, i);
        struct job_operation *member = &job->operations[at];
        if (!member->may_be_tree || member->end_ns == TIME_UNKNOWN)
            return 0;
        int64_t end = all_there(job, instance, member);
        if (end != TIME_UNKNOWN && next[at] != TIME_UNKNOWN && next[at] < end)
            end = next[at];
        if (end == TIME_UNKNOWN || end <= member->end_ns)
            continue;
        member->end_ns = end;
        if (job->drafts[at].free_ns < end)
            job->drafts[at].free_ns = end;
        mended = 1;
    }
    return mended;
}

/*
 * When a member was over: its end, or when its stream had taken all data, but not after the next began there.
 * TIME_UNKNOWN where its end is.
 */
static int64_t over_at(const struct job *job, int32_t at, int64_t next_ns)
{
    const struct job_operation *member = &job->operations[at];
    int64_t free_ns = job->drafts[at].free_ns;
    if (member->end_ns == TIME_UNKNOWN)
        return TIME_UNKNOWN;
    if (next_ns == TIME_UNKNOWN || next_ns >= free_ns)
        return free_ns;
    return next_ns > member->end_ns ? next_ns : member->end_ns;
}

/* Of a collective, the member known to have been over last, in common time; -1 where none is known. */
static int32_t last_member(const struct job *job, const struct job_instance *instance, const int64_t *next,
                           int64_t *last)
{
    int32_t best = -1;
    *last = TIME_UNKNOWN;
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t at = job_member_at(job, instance, i);
        int64_t end = job_common_time(job, &job->operations[at], over_at(job, at, next[at]));
        if (end != TIME_UNKNOWN && (best < 0 || end > *last)) {
            *last = end;
            best = at;
        }
    }
    return best;
}

/* Of what was issued next, whatever its stream, so many operations are looked at. */
enum { LOOK_AHEAD = 64 };

/*
 * What the rank began at about the time at which an operation of it was over, within the doubt of the clocks,
 * began after that, on other streams too.
 */
static int64_t not_after_others(const struct job *job, int32_t at, int64_t over_ns, int64_t doubt_ns)
{
    const struct job_rank *rank = &job->ranks[job->operations[at].rank];
    size_t end = rank->first + rank->count, first = (size_t)at + 1;
    int64_t least_ns = over_ns - doubt_ns;
    for (size_t i = first; i < end && i - first < LOOK_AHEAD; i++) {
        int64_t start_ns = job->operations[i].start_ns;
        if (start_ns != TIME_UNKNOWN && start_ns >= least_ns && start_ns < over_ns)
            over_ns = start_ns;
    }
    return over_ns;
}

/*
 * A member of which only one channel tells its stop may have been held by another, as long as the last member
 * was. If that was for most of the operation, and its stream began nothing until then, by the clocks, that is
 * where it was free. Less is how far apart the ranks of a ring come out of it. Where a member left no trace
 * the last one is not known.
 */
static int mend_open_channels(struct job *job, const struct job_instance *instance, const int64_t *next)
{
    int mended = 0;
    int64_t last;
    int is_told = function_is_full_exchange(instance->function) && instance->members == instance->expected;
    int32_t slowest = is_told ? last_member(job, instance, next, &last) : -1;
    int64_t duration = slowest >= 0 && job->operations[slowest].start_ns != TIME_UNKNOWN
                           ? over_at(job, slowest, next[slowest]) - job->operations[slowest].start_ns
                           : TIME_UNKNOWN;
    for (int32_t i = 0; duration != TIME_UNKNOWN && i < instance->members; i++) {
        int32_t at = job_member_at(job, instance, i);
        const struct job_operation *member = &job->operations[at];
        int64_t end = job_common_time(job, member, member->end_ns);
        if (!member->incomplete || end == TIME_UNKNOWN || next[at] == TIME_UNKNOWN)
            continue;
        int64_t doubt = job_clock_doubt(job, member->rank, job->operations[slowest].rank);
        int64_t held = member->end_ns + (last - end);
        if (last - end <= doubt || (last - end) * 2 < duration || next[at] < held - doubt)
            continue;
        if (next[at] < held)
            held = next[at];
        held = not_after_others(job, at, held, doubt);
        if (job->drafts[at].free_ns < held)
            job->drafts[at].free_ns = held;
        job->operations[at].held = 1;
        mended = 1;
    }
    return mended;
}

/*
 * Sends and receives of one group call share a kernel, which notes the stop of each when a part of its
 * threads is done. A receive that ended before its sender came did not: it ends when that came, by the
 * clocks, at the least: no kernel says when.
 */
static int mend_receive(struct job *job, const struct job_instance *instance, const int64_t *next)
{
    const int32_t *members = job->instance_members + instance->first_member;
    if (instance->members != 2 || instance->function != FUNCTION_SEND)
        return 0;
    int32_t at = job->operations[members[0]].function == FUNCTION_RECV ? members[0] : members[1];
    struct job_operation *receive = &job->operations[at];
    const struct job_operation *send = &job->operations[members[0] + members[1] - at];
    int64_t sent = job_common_time(job, send, send->start_ns);
    int64_t ended = job_common_time(job, receive, receive->end_ns);
    if (receive->function != FUNCTION_RECV || !job_is_grouped(job, at) || sent == TIME_UNKNOWN ||
        ended == TIME_UNKNOWN)
        return 0;
    int64_t doubt = job_clock_doubt(job, send->rank, receive->rank);
    int64_t end = receive->end_ns + (sent - ended);
    if (next[at] != TIME_UNKNOWN && next[at] < end)
        end = next[at];
    if (sent - ended <= doubt || end <= receive->end_ns)
        return 0;
    receive->end_ns = end;
    if (receive->ends == ENDS_BY_KERNEL)
        receive->ends = ENDS_BY_SENDER;
    if (job->drafts[at].free_ns < end)
        job->drafts[at].free_ns = end;
    return 1;
}

int job_mend_ends(struct job *job, int *mended, struct error *error)
{
    int64_t *next = job_next_starts(job);
    *mended = 0;
    if (!next)
        return error_no_memory(error);
    for (size_t i = 0; i < job->instance_count; i++)
        *mended |=
            mend_tree(job, &job->instances[i], next) || mend_early_stops(job, &job->instances[i], next) ||
            mend_open_channels(job, &job->instances[i], next) || mend_receive(job, &job->instances[i], next);
    free(next);
    return 0;
}

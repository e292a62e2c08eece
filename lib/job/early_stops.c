/*
 * Corrects the ends of operations whose kernels record their stop before the operation is over: trees,
 * kernels with a channel without a stop, receives in group calls. Needs aligned clocks.
 */
#include "base/base.h"
#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

int job_end_later(struct job *job, int32_t at, int64_t end, int64_t next_ns)
{
    if (next_ns != TIME_UNKNOWN && next_ns < end)
        end = next_ns;
    if (end <= job->operations[at].end_ns)
        return 0;
    job->operations[at].end_ns = end;
    if (job->drafts.free_ns[at] < end)
        job->drafts.free_ns[at] = end;
    return 1;
}

/*
 * AllReduce by a tree: NCCL splits the threads of such a kernel into those that reduce up the tree and those
 * that broadcast down, and records the kernel's stop when the former are done. So the kernel of a leaf stops
 * when it has passed on its data, even if other ranks have not arrived (src/device/all_reduce.h,
 * runTreeSplit). The root has the result when it stops, but other hosts only receive it after that.
 * Therefore, if clocks are aligned, all members end with the last one, or when a GPU of their host took its
 * last data from the network, if that is later, but not after the next operation of their stream or of their
 * communicator began. If a member left no trace, it may be the one that took the data of its host: then the
 * others of that host end at any time until their next operation, and the latest is assumed, so that no own
 * time is seen where there may be none.
 */

/* The hosts of the ranks, and when each was done with the data of a tree, in common time. */
struct tree_hosts {
    int32_t *of_rank;        /* owned: number of the host; one for all ranks whose host is not known */
    int64_t *taken_ns;       /* owned: [host] */
    int64_t *taken_of_clock; /* owned: [clock] */
};

static int is_same_host(const struct job *job, size_t rank, size_t other)
{
    const char *host = job->ranks[rank].facts.host, *there = job->ranks[other].facts.host;
    return host && there ? !strcmp(host, there) : host == there;
}

static int tree_hosts_init(struct tree_hosts *hosts, const struct job *job)
{
    *hosts = (struct tree_hosts){.of_rank = array_new(job->rank_count, sizeof *hosts->of_rank),
                                 .taken_ns = array_new(job->rank_count, sizeof *hosts->taken_ns),
                                 .taken_of_clock = array_new(job->rank_count, sizeof *hosts->taken_of_clock)};
    if (!hosts->of_rank || !hosts->taken_ns || !hosts->taken_of_clock)
        return -1;
    /* The number of a host is that of its first rank. */
    for (size_t i = 0; i < job->rank_count; i++) {
        size_t first = 0;
        while (first < i && (hosts->of_rank[first] != (int32_t)first || !is_same_host(job, i, first)))
            first++;
        hosts->of_rank[i] = (int32_t)first;
    }
    return 0;
}

static void tree_hosts_release(struct tree_hosts *hosts)
{
    free(hosts->of_rank);
    free(hosts->taken_ns);
    free(hosts->taken_of_clock);
}

/* The end of the last member in common time; TIME_UNKNOWN if some member's end is unknown. */
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

static void gather_taken(const struct job *job, const struct job_instance *instance,
                         const struct tree_hosts *hosts)
{
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t rank = job_member(job, instance, i)->rank;
        hosts->taken_of_clock[job->ranks[rank].clock] = hosts->taken_ns[hosts->of_rank[rank]] = TIME_UNKNOWN;
    }
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t at = job_member_at(job, instance, i);
        const struct job_operation *member = &job->operations[at];
        int64_t taken = job_common_time(job, member, job->drafts.free_ns[at]);
        int64_t *of_clock = &hosts->taken_of_clock[job->ranks[member->rank].clock],
                *of_host = &hosts->taken_ns[hosts->of_rank[member->rank]];
        *of_clock = *of_clock == TIME_UNKNOWN || taken > *of_clock ? taken : *of_clock;
        *of_host = *of_host == TIME_UNKNOWN || taken > *of_host ? taken : *of_host;
    }
}

static int correct_tree(struct job *job, const struct job_instance *instance, const int64_t *next,
                        const struct tree_hosts *hosts)
{
    int mended = 0;
    int64_t last = last_end(job, instance);
    if (last == TIME_UNKNOWN)
        return 0;
    gather_taken(job, instance, hosts);
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t at = job_member_at(job, instance, i);
        const struct job_operation *member = &job->operations[at];
        int64_t taken = hosts->taken_of_clock[job->ranks[member->rank].clock];
        int64_t over = taken > last ? taken : last;
        int64_t end = member->end_ns + (over - job_common_time(job, member, member->end_ns));
        if (instance->members < instance->expected && hosts->taken_ns[hosts->of_rank[member->rank]] < last &&
            next[at] != TIME_UNKNOWN)
            end = next[at];
        mended |= job_end_later(job, at, end, next[at]);
    }
    return mended;
}

/* The latest starts of a collective's members in common time, as precisely as the clocks allow. */
struct starts {
    struct top_two *of_clock; /* owned; [clock], set for the clocks of the members */
    struct top_two doubted;   /* of all members: start minus the uncertainty of the member's clock */
};

static const struct top_two NOBODY = {.rank = -1, .most = INT64_MIN, .second = INT64_MIN};

static void gather_starts(const struct job *job, const struct job_instance *instance, struct starts *starts)
{
    starts->doubted = NOBODY;
    for (int32_t i = 0; i < instance->members; i++)
        starts->of_clock[job->ranks[job_member(job, instance, i)->rank].clock] = NOBODY;
    for (int32_t i = 0; i < instance->members; i++) {
        const struct job_operation *member = job_member(job, instance, i);
        const struct job_rank *rank = &job->ranks[member->rank];
        int64_t start = job_common_time(job, member, member->start_ns);
        if (start == TIME_UNKNOWN)
            continue;
        top_two_add(&starts->of_clock[rank->clock], member->rank, start);
        top_two_add(&starts->doubted, member->rank, start - rank->clock_uncertainty_ns);
    }
}

static int64_t latest_other(const struct top_two *starts, int32_t rank)
{
    return starts->rank == rank ? starts->second : starts->most;
}

/*
 * The earliest time, given the uncertainty of the clocks (job_clock_uncertainty), at which all others had
 * arrived, on the clock of a member.
 */
static int64_t others_arrived_ns(const struct job *job, const struct starts *starts,
                                 const struct job_operation *member)
{
    const struct job_rank *rank = &job->ranks[member->rank];
    int64_t mine = job_common_time(job, member, member->start_ns);
    int64_t latest = latest_other(&starts->of_clock[rank->clock], member->rank);
    int64_t doubted = latest_other(&starts->doubted, member->rank);
    if (mine == TIME_UNKNOWN || doubted == INT64_MIN)
        return TIME_UNKNOWN;
    if (doubted - rank->clock_uncertainty_ns > latest)
        latest = doubted - rank->clock_uncertainty_ns;
    return latest + (member->start_ns - mine);
}

/*
 * If the algorithm is unknown, a stop before all members had arrived (beyond the uncertainty of the clocks)
 * is that of a tree's leaf, since no member completes before all have arrived, and the next operation of its
 * stream does not begin before that either.
 */
static int correct_early_stops(struct job *job, const struct job_instance *instance, const int64_t *next,
                               struct starts *starts)
{
    int mended = 0;
    if (!instance->members || !job_member(job, instance, 0)->may_be_tree)
        return 0;
    gather_starts(job, instance, starts);
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t at = job_member_at(job, instance, i);
        const struct job_operation *member = &job->operations[at];
        if (!member->may_be_tree || member->end_ns == TIME_UNKNOWN)
            return mended;
        int64_t end = others_arrived_ns(job, starts, member);
        mended |= end != TIME_UNKNOWN && job_end_later(job, at, end, next[at]);
    }
    return mended;
}

/*
 * When a member was over: its end, or when its stream had taken all data, but not after the next operation
 * there began. TIME_UNKNOWN if its end is unknown.
 */
static int64_t over_at(const struct job *job, int32_t at, int64_t next_ns)
{
    const struct job_operation *member = &job->operations[at];
    int64_t free_ns = job->drafts.free_ns[at];
    if (member->end_ns == TIME_UNKNOWN)
        return TIME_UNKNOWN;
    if (next_ns == TIME_UNKNOWN || next_ns >= free_ns)
        return free_ns;
    return next_ns > member->end_ns ? next_ns : member->end_ns;
}

/*
 * The member of a collective that is known to be over last, and that time in common time; -1 if none is
 * known.
 */
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

/* How many of the operations issued next, on any stream, are examined. */
enum { LOOK_AHEAD = 64 };

/*
 * If the rank began another operation, on any stream, at about the time when this operation was over (within
 * the uncertainty of the clocks), that operation began after it.
 */
static int64_t not_after_others(struct job *job, int32_t at, int64_t over_ns, int64_t doubt_ns)
{
    const struct job_rank *rank = &job->ranks[job->operations[at].rank];
    size_t end = rank->first + rank->count, first = (size_t)at + 1;
    int64_t least_ns = over_ns - doubt_ns;
    for (size_t i = first; i < end && i - first < LOOK_AHEAD; i++) {
        int64_t start_ns = job->operations[i].start_ns;
        if (start_ns != TIME_UNKNOWN && start_ns >= least_ns && start_ns < over_ns)
            over_ns = start_ns;
    }
    size_t next = first + LOOK_AHEAD;
    int64_t next_ns = next < end ? job->operations[next].start_ns : TIME_UNKNOWN;
    job->bounded_ends += next_ns != TIME_UNKNOWN && next_ns >= least_ns && next_ns < over_ns;
    return over_ns;
}

/*
 * A member with a channel without a stop may have been occupied by that channel as long as the last member
 * was. If that is most of the operation's duration, and by aligned clocks its stream began nothing until
 * then, its stream became free at that time. Smaller differences are normal between the ranks of a ring. If a
 * member has no records, the last member is unknown.
 */
static int correct_open_channels(struct job *job, const struct job_instance *instance, const int64_t *next)
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
        int64_t doubt = job_clock_uncertainty(job, member->rank, job->operations[slowest].rank);
        int64_t held = member->end_ns + (last - end);
        if (last - end <= doubt || (last - end) * 2 < duration || next[at] < held - doubt)
            continue;
        if (next[at] < held)
            held = next[at];
        held = not_after_others(job, at, held, doubt);
        if (job->drafts.free_ns[at] < held)
            job->drafts.free_ns[at] = held;
        job->operations[at].held = 1;
        mended = 1;
    }
    return mended;
}

/* How far the offset between the clocks of two ranks may be off by what ends of exchanges show. */
static int64_t clock_doubt(const struct job *job, const struct job_operation *a,
                           const struct job_operation *b)
{
    const struct job_rank *left = &job->ranks[a->rank], *right = &job->ranks[b->rank];
    return left->clock == right->clock ? 0 : left->clock_doubt_ns + right->clock_doubt_ns;
}

/*
 * Sends and receives of one group call share a kernel, which records the stop of each when some of its
 * threads are done. A receive that seems to end before its sender arrived did not: by aligned clocks it ended
 * at the earliest when the sender arrived. No kernel records the actual time.
 */
static int correct_receive(struct job *job, const struct job_instance *instance, const int64_t *next)
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
    int64_t end = receive->end_ns + (sent - ended);
    if (sent - ended <= clock_doubt(job, send, receive) || !job_end_later(job, at, end, next[at]))
        return 0;
    if (receive->ends == ENDS_BY_KERNEL)
        receive->ends = ENDS_BY_SENDER;
    return 1;
}

/*
 * NCCL runs the collectives of a communicator one after the other, also those of different streams: they use
 * the same buffers. So a collective is over on its rank when the next one of its communicator begins there.
 * Returns -1 when memory runs out.
 */
static int bound_by_communicators(const struct job *job, int64_t *next)
{
    int64_t *begun_ns = array_new(job->communicator_count + 1, sizeof *begun_ns);
    for (size_t rank = 0; begun_ns && rank < job->rank_count; rank++) {
        for (size_t i = 0; i < job->communicator_count; i++)
            begun_ns[i] = TIME_UNKNOWN;
        for (size_t i = job->ranks[rank].first + job->ranks[rank].count; i-- > job->ranks[rank].first;) {
            const struct job_operation *operation = &job->operations[i];
            if (operation->communicator < 0 || operation->start_ns == TIME_UNKNOWN ||
                operation->group != (int32_t)i || function_is_point_to_point(operation->function))
                continue;
            int64_t *begun = &begun_ns[operation->communicator];
            if (*begun > operation->start_ns && (next[i] == TIME_UNKNOWN || *begun < next[i]))
                next[i] = *begun;
            *begun = operation->start_ns;
        }
    }
    int failed = !begun_ns;
    free(begun_ns);
    return failed;
}

int job_correct_ends(struct job *job, int *mended, struct error *error)
{
    int64_t *next = job_next_starts(job);
    struct starts starts = {.of_clock = array_new(job->rank_count, sizeof *starts.of_clock)};
    struct tree_hosts hosts;
    int failed =
        tree_hosts_init(&hosts, job) || !next || !starts.of_clock || bound_by_communicators(job, next);
    *mended = 0;
    for (size_t i = 0; !failed && i < job->instance_count; i++) {
        const struct job_instance *instance = &job->instances[i];
        *mended |= correct_tree(job, instance, next, &hosts) ||
                   correct_early_stops(job, instance, next, &starts) ||
                   correct_open_channels(job, instance, next) || correct_receive(job, instance, next);
    }
    free(next);
    free(starts.of_clock);
    tree_hosts_release(&hosts);
    return failed ? error_no_memory(error) : 0;
}

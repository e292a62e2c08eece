#include "network/ring.h"

#include "base/array.h"

#include <stdlib.h>

/*
 * A slow link paces its ring: what it carries arrives at even intervals. Its receiver takes the last of that
 * and is done last. The rank behind the receiver needs no more than came one interval before, and is done one
 * interval earlier; and so on, around the ring to the rank in front of the sender. The sender alone is out of
 * line: it is done when the last of its data is in the network's buffers, which is before the first of the
 * others or among them. So the slow link is between the one who was done last and the one without whom all
 * others were done at even intervals.
 */

/* When a member was done, by the clocks that all have in common. */
struct done {
    int64_t end_ns;
    int32_t operation;
};

/* Of fewer, the others are three at most: two intervals are easily alike. */
enum { FEWEST_MEMBERS = 5 };

/*
 * One part in so many. All but one are done within at least a quarter of what the operation was slow by, or
 * the data went around several times; clocks may be off by an eighth of that time. Intervals differ from
 * their mean by a quarter at most, or the order tells nothing; where it tells, who is in line leaves others
 * that differ by more than half.
 */
enum { SPREAD_PART = 4, DOUBT_PART = 8, EVEN_PART = 4, APART_PART = 2 };

static int by_end(const void *a, const void *b)
{
    const struct done *left = a, *right = b;
    if (left->end_ns != right->end_ns)
        return left->end_ns < right->end_ns ? -1 : 1;
    return (left->operation > right->operation) - (left->operation < right->operation);
}

static int may_be_ring(const struct job_instance *instance)
{
    return instance->members >= FEWEST_MEMBERS && instance->members == instance->expected &&
           function_is_full_exchange(instance->function) && instance->function != FUNCTION_ALL_TO_ALL;
}

/* Whether it is known of all members when they were done; and how far their clocks may be off. */
static int list_ends(const struct job *job, const struct job_instance *instance, struct done *done,
                     int64_t *doubt_ns)
{
    int32_t first_rank = job_member(job, instance, 0)->rank;
    *doubt_ns = 0;
    for (int32_t i = 0; i < instance->members; i++) {
        const struct job_operation *member = job_member(job, instance, i);
        int64_t end_ns = job_common_time(job, member, job_left_ns(member, TIME_UNKNOWN));
        int64_t here_ns = job_clock_doubt(job, member->rank, first_rank);
        if (end_ns == TIME_UNKNOWN)
            return 0;
        done[i] = (struct done){end_ns, job_member_at(job, instance, i)};
        *doubt_ns = here_ns > *doubt_ns ? here_ns : *doubt_ns;
    }
    array_sort(done, (size_t)instance->members, sizeof *done, by_end);
    return 1;
}

/* Whether the interval from one end to another differs from the mean by more than one part in `part`. */
static int is_uneven(const struct done *from, const struct done *to, int64_t mean_ns, int64_t part)
{
    int64_t off_ns = to->end_ns - from->end_ns - mean_ns;
    return (off_ns < 0 ? -off_ns : off_ns) > mean_ns / part;
}

static int32_t count_uneven(const struct done *done, int32_t count, int64_t mean_ns, int64_t part)
{
    int32_t uneven = 0;
    for (int32_t i = 0; i + 1 < count; i++)
        uneven += is_uneven(&done[i], &done[i + 1], mean_ns, part);
    return uneven;
}

/* By place in the order: whether all others were done at even intervals. Returns of how many that is so. */
static int32_t mark_apart(const struct done *done, int32_t count, int64_t part, unsigned char *is_apart)
{
    int32_t last = count - 1, found;
    int64_t mean_ns = (done[last].end_ns - done[1].end_ns) / (count - 2);
    found = is_apart[0] = count_uneven(done + 1, last, mean_ns, part) == 0;
    mean_ns = (done[last].end_ns - done[0].end_ns) / (count - 2);
    int32_t uneven = count_uneven(done, count, mean_ns, part);
    for (int32_t i = 1; i < last; i++) {
        const struct done *before = &done[i - 1], *here = &done[i], *after = &done[i + 1];
        int32_t beside = is_uneven(before, here, mean_ns, part) + is_uneven(here, after, mean_ns, part);
        is_apart[i] = uneven == beside && !is_uneven(before, after, mean_ns, part);
        found += is_apart[i];
    }
    is_apart[last] = 0;
    return found;
}

static void clear(const struct done *done, int32_t count, unsigned char *is_apart, unsigned char *cleared)
{
    if (!mark_apart(done, count, EVEN_PART, is_apart))
        return;
    mark_apart(done, count, APART_PART, is_apart);
    for (int32_t i = 0; i + 1 < count; i++)
        cleared[done[i].operation] = !is_apart[i];
}

int ring_clear_members(const struct job *job, const struct job_instance *instance, int64_t slow_ns,
                       unsigned char *cleared)
{
    if (!may_be_ring(instance))
        return 0;
    int32_t count = instance->members;
    struct done *done = array_new((size_t)count, sizeof *done);
    unsigned char *is_apart = array_new((size_t)count, 1);
    int failed = !done || !is_apart;
    int64_t doubt_ns;
    if (!failed && list_ends(job, instance, done, &doubt_ns)) {
        int64_t spread_ns = done[count - 1].end_ns - done[1].end_ns;
        if (spread_ns >= slow_ns / SPREAD_PART && doubt_ns <= spread_ns / DOUBT_PART)
            clear(done, count, is_apart, cleared);
    }
    free(done);
    free(is_apart);
    return failed ? -1 : 0;
}

#include "join/split_by_clock.h"

#include "base/array.h"
#include "base/lower_bound.h"
#include "base/map.h"

#include <stdlib.h>

/*
 * Telling apart the ranks behind one process id: several GPUs of one process, or processes of several hosts
 * that happen to have the same number (containers). Host clock minus GPU clock is one value for each of them.
 * The members of the communicator that has most of them are a rank each, and the seeds; every other member
 * goes to the seed whose value is nearest, if it is clearly nearer than the next and not in that communicator
 * already.
 */

struct seed {
    int64_t affinity;
    int32_t rank;
};

static int by_affinity(const void *a, const void *b)
{
    const struct seed *left = a, *right = b;
    if (left->affinity != right->affinity)
        return left->affinity < right->affinity ? -1 : 1;
    return left->rank - right->rank;
}

static uint64_t distance(int64_t a, int64_t b)
{
    return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

/* Clocks drift: of two values that are about as far, which is the nearer one is chance. */
enum { TIMES_NEARER = 3 };

static int is_below(const void *seed, const void *affinity)
{
    return ((const struct seed *)seed)->affinity < *(const int64_t *)affinity;
}

/* The seed nearest to a value, -1 when the second nearest is not at least three times as far. */
static int64_t nearest(const struct seed *seeds, size_t count, int64_t affinity)
{
    size_t above = lower_bound(seeds, count, sizeof *seeds, is_below, &affinity);
    uint64_t best = UINT64_MAX, second = UINT64_MAX;
    int64_t at = -1;
    for (size_t i = above >= 2 ? above - 2 : 0; i < count && i < above + 2; i++) {
        uint64_t far = distance(seeds[i].affinity, affinity);
        if (far < best) {
            second = best;
            best = far;
            at = (int64_t)i;
        } else if (far < second) {
            second = far;
        }
    }
    return count > 1 && best >= second / TIMES_NEARER ? -1 : at;
}

/* The communicator in which a process has most members, among equals the greatest; -2: out of memory. */
static int32_t seeding_communicator(const struct work *work, int32_t process)
{
    struct map counts;
    int32_t best = -1;
    int64_t most = 0;
    map_init(&counts);
    for (size_t i = work->by_process.first[process]; i < work->by_process.first[process + 1]; i++) {
        const struct work_member *member = &work->members[work->by_process.items[i]];
        int64_t *count = map_put(&counts, (struct map_key){{(uint64_t)member->communicator}}, 0, NULL);
        if (!count) {
            map_release(&counts);
            return -2;
        }
        ++*count;
        const struct work_communicator *here = &work->communicators[member->communicator];
        if (*count > most ||
            (*count == most && here->member_count > work->communicators[best].member_count)) {
            most = *count;
            best = member->communicator;
        }
    }
    map_release(&counts);
    return best;
}

/* Without a value for each of them, none is the nearest to anything: then *count is 0. */
static int make_seeds(struct work *work, int32_t process, int32_t communicator, struct seed **seeds,
                      size_t *count)
{
    size_t capacity = 0, valued = 0;
    for (size_t i = work->by_process.first[process]; i < work->by_process.first[process + 1]; i++) {
        struct work_member *member = &work->members[work->by_process.items[i]];
        if (member->communicator != communicator)
            continue;
        int64_t rank = work_add_rank(work, work->processes[process].run, process);
        if (rank < 0 || array_reserve((void **)seeds, &capacity, *count + 1, sizeof **seeds))
            return -1;
        member->job_rank = (int32_t)rank;
        valued += member->affinity != INT64_MIN;
        (*seeds)[(*count)++] = (struct seed){member->affinity, (int32_t)rank};
    }
    if (valued < *count)
        *count = 0;
    array_sort(*seeds, *count, sizeof **seeds, by_affinity);
    return 0;
}

int work_split_process(struct work *work, int32_t process)
{
    struct seed *seeds = NULL;
    size_t count = 0;
    struct map taken; /* (rank, communicator) */
    map_init(&taken);
    int32_t communicator = seeding_communicator(work, process);
    int failed = communicator == -2;
    if (communicator >= 0)
        failed = make_seeds(work, process, communicator, &seeds, &count);
    size_t end = work->by_process.first[process + 1];
    for (size_t i = work->by_process.first[process]; !failed && count && i < end; i++) {
        struct work_member *member = &work->members[work->by_process.items[i]];
        if (member->job_rank >= 0 || member->affinity == INT64_MIN)
            continue;
        int64_t at = nearest(seeds, count, member->affinity);
        int added = 0;
        if (at >= 0 &&
            !map_put(&taken, (struct map_key){{(uint64_t)at, (uint64_t)member->communicator}}, 1, &added))
            failed = -1;
        if (added)
            member->job_rank = seeds[at].rank;
    }
    map_release(&taken);
    free(seeds);
    return failed;
}

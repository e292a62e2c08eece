/*
 * Decides whether lost files explain the free places in the communicators of a run, for ranks.c. The second
 * half is the table of unfinished instances that instances.c uses.
 */
#include "base/base.h"
#include "join/internal.h"

#include <stdlib.h>
#include <string.h>

/*
 * A free place in a communicator belongs to a rank that recorded nothing, or to one that recorded something
 * but whose file of this communicator was lost: NCCL's example plugin writes one file per communicator.
 * Assumes that each rank is in as many communicators as most ranks are, if possible.
 */

struct membership {
    int32_t run;
    int32_t communicators;
    int64_t global_rank; /* -1: unknown */
};

static int by_run(const void *a, const void *b)
{
    const struct membership *left = a, *right = b;
    if (left->run != right->run)
        return left->run < right->run ? -1 : 1;
    return (left->communicators > right->communicators) - (left->communicators < right->communicators);
}

/*
 * The number of communicators that each rank is in, sorted by run. The caller frees it; NULL: out of memory.
 */
static struct membership *count_memberships(const struct work *work)
{
    struct membership *ranks = array_new(work->rank_count, sizeof *ranks);
    for (size_t i = 0; ranks && i < work->rank_count; i++)
        ranks[i] = (struct membership){.run = work->ranks[i].run, .global_rank = work->ranks[i].global_rank};
    for (size_t i = 0; ranks && i < work->member_count; i++) {
        const struct work_member *member = &work->members[i];
        if (member->job_rank >= 0 && work->communicators[member->communicator].hash != 0)
            ranks[member->job_rank].communicators++;
    }
    if (ranks)
        array_sort(ranks, work->rank_count, sizeof *ranks, by_run);
    return ranks;
}

/* The free places in the communicators of a run, except the world. */
struct gaps {
    int64_t places;
    int64_t
        /*
         * of communicators with places after their last member: the greatest global rank of such a member;
         * -1: none
         */
        last;
};

/*
 * Global ranks ascend with the rank in a communicator. The global rank of the last member of each; -1 if no
 * place is after it. NULL: out of memory.
 */
static int64_t *find_last_members(const struct work *work)
{
    int64_t *last = array_new(work->communicator_count, sizeof *last);
    int64_t *number = array_new(work->communicator_count, sizeof *number);
    for (size_t i = 0; last && number && i < work->member_count; i++) {
        const struct work_member *member = &work->members[i];
        if (member->job_rank < 0 || member->rank < number[member->communicator])
            continue;
        number[member->communicator] = member->rank;
        last[member->communicator] = work->ranks[member->job_rank].global_rank;
    }
    for (size_t i = 0; last && number && i < work->communicator_count; i++)
        if (number[i] >= work->communicators[i].size - 1)
            last[i] = -1;
    if (!number) {
        free(last);
        last = NULL;
    }
    free(number);
    return last;
}

/*
 * Counts at most one place more than there are recorded ranks for each communicator, so that sizes that a
 * trace claims do not add up.
 */
static void find_gaps(const struct work *work, const int64_t *last, struct gaps *gaps)
{
    for (size_t i = 0; i < work->run_count; i++)
        gaps[i].last = -1;
    for (size_t i = 0; i < work->communicator_count; i++) {
        const struct work_communicator *communicator = &work->communicators[i];
        if (communicator->run < 0 || communicator->hash == 0)
            continue;
        struct gaps *here = &gaps[communicator->run];
        int is_lone = communicator->size < 2 && communicator->declared_size <= 0;
        int64_t left = (is_lone ? 2 : communicator->size) - communicator->member_count;
        int64_t most = (int64_t)work->rank_count + 1;
        if (left <= 0 || work->runs[communicator->run].world == (int32_t)i)
            continue;
        here->places += left < most ? left : most;
        if (last[i] > here->last)
            here->last = last[i];
    }
}

/*
 * Whether the ranks of a run that are in fewer communicators than most can take its free places. `counts` has
 * room for all of them.
 */
static int can_take(const struct membership *ranks, size_t count, const struct gaps *gaps, int64_t *counts)
{
    for (size_t i = 0; i < count; i++)
        counts[i] = ranks[i].communicators;
    int64_t usual = most_frequent_integer(counts, count);
    int64_t missing = 0, greatest = -1;
    for (size_t i = 0; i < count && ranks[i].communicators < usual; i++) {
        missing += usual - ranks[i].communicators;
        int64_t rank = ranks[i].global_rank < 0 ? INT64_MAX : ranks[i].global_rank;
        greatest = rank > greatest ? rank : greatest;
    }
    return gaps->places > 0 && missing >= gaps->places && (gaps->last < 0 || greatest > gaps->last);
}

unsigned char *work_find_lost_files(const struct work *work)
{
    unsigned char *lost = array_new(work->run_count, 1);
    struct gaps *gaps = array_new(work->run_count, sizeof *gaps);
    struct membership *ranks = count_memberships(work);
    int64_t *last = find_last_members(work);
    int64_t *counts = array_new(work->rank_count, sizeof *counts);
    int failed = !lost || !gaps || !ranks || !last || !counts;
    if (!failed)
        find_gaps(work, last, gaps);
    for (size_t first = 0, end; !failed && first < work->rank_count; first = end) {
        int32_t run = ranks[first].run;
        for (end = first; end < work->rank_count && ranks[end].run == run; end++)
            ;
        if (run >= 0)
            lost[run] = can_take(ranks + first, end - first, &gaps[run], counts) != 0;
    }
    free(gaps);
    free(ranks);
    free(last);
    free(counts);
    if (failed)
        free(lost);
    return failed ? NULL : lost;
}

enum { CAPACITY_LEAST = 256 };

void pending_init(struct pending *pending)
{
    *pending = (struct pending){.seed = hash_seed()};
}

void pending_release(struct pending *pending)
{
    free(pending->ring);
    free(pending->slots);
    pending_init(pending);
}

struct pending_instance *pending_at(const struct pending *pending, uint64_t number)
{
    return &pending->ring[number & (pending->capacity - 1)];
}

static size_t home_of(const struct pending *pending, const struct pending_key *key)
{
    uint64_t mixed = hash_mix(hash_mix(hash_mix(pending->seed, key->part[0]), key->part[1]), key->part[2]);
    return (size_t)mixed & (pending->slot_count - 1);
}

static int is_same(const struct pending_key *left, const struct pending_key *right)
{
    return left->part[0] == right->part[0] && left->part[1] == right->part[1] &&
           left->part[2] == right->part[2];
}

/* The slot with the key, or the free slot for it. */
static size_t find(const struct pending *pending, const struct pending_key *key)
{
    size_t at = home_of(pending, key);
    while (pending->slots[at] && !is_same(&pending_at(pending, pending->slots[at] - 1)->key, key))
        at = (at + 1) & (pending->slot_count - 1);
    return at;
}

static int grow(struct pending *pending)
{
    struct pending bigger = *pending;
    bigger.capacity = pending->capacity ? pending->capacity * 2 : CAPACITY_LEAST;
    bigger.slot_count = bigger.capacity * 2;
    bigger.ring = array_new(bigger.capacity, sizeof *bigger.ring);
    bigger.slots = array_new(bigger.slot_count, sizeof *bigger.slots);
    if (!bigger.ring || !bigger.slots) {
        free(bigger.ring);
        free(bigger.slots);
        return -1;
    }
    for (uint64_t number = pending->first; number < pending->next; number++) {
        *pending_at(&bigger, number) = *pending_at(pending, number);
        bigger.slots[find(&bigger, &pending_at(&bigger, number)->key)] = number + 1;
    }
    free(pending->ring);
    free(pending->slots);
    *pending = bigger;
    return 0;
}

int64_t pending_put(struct pending *pending, const struct pending_key *key, int *added)
{
    if (pending->next - pending->first == pending->capacity && grow(pending))
        return -1;
    size_t at = find(pending, key);
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): grow() has put new slots in the place of those it freed */
    *added = !pending->slots[at];
    if (!*added)
        return (int64_t)pending->slots[at] - 1;
    pending->slots[at] = pending->next + 1;
    *pending_at(pending, pending->next) = (struct pending_instance){.key = *key};
    return (int64_t)pending->next++;
}

/* Frees a slot and moves later ones up that could not be found otherwise. */
static void free_slot(struct pending *pending, size_t hole)
{
    size_t mask = pending->slot_count - 1;
    for (size_t at = (hole + 1) & mask; pending->slots[at]; at = (at + 1) & mask) {
        size_t home = home_of(pending, &pending_at(pending, pending->slots[at] - 1)->key);
        if (((at - home) & mask) < ((at - hole) & mask))
            continue;
        pending->slots[hole] = pending->slots[at];
        hole = at;
    }
    pending->slots[hole] = 0;
}

void pending_pop(struct pending *pending)
{
    free_slot(pending, find(pending, &pending_at(pending, pending->first)->key));
    pending->first++;
}

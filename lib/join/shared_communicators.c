#include "join/shared_communicators.h"

#include "base/array.h"

#include <stdlib.h>

int32_t shared_turn(const struct shared_communicators *shared, int32_t communicator)
{
    for (size_t i = 0; i < shared->count; i++)
        if (shared->items[i] == communicator)
            return (int32_t)i;
    return -1;
}

struct candidate {
    const struct communicator_life *life;
    int32_t communicator;
    int32_t member_count;
    uint64_t hash;
};

/* The widest first; of two of a size that of the lesser hash: the order of reading says nothing. */
static int by_width(const void *a, const void *b)
{
    const struct candidate *left = a, *right = b;
    if (left->member_count != right->member_count)
        return left->member_count > right->member_count ? -1 : 1;
    return (left->hash > right->hash) - (left->hash < right->hash);
}

static int by_life(const void *a, const void *b)
{
    const struct candidate *left = a, *right = b;
    return (left->life->first_used > right->life->first_used) -
           (left->life->first_used < right->life->first_used);
}

static int is_apart(const struct candidate *chosen, size_t count, const struct candidate *candidate)
{
    for (size_t i = 0; i < count; i++)
        if (candidate->life->first_used <= chosen[i].life->last_used &&
            chosen[i].life->first_used <= candidate->life->last_used)
            return 0;
    return 1;
}

/* Those of a rank that may be; `first`, where it is among them, comes first. Returns how many. */
static size_t list_candidates(const struct work *work, int32_t rank, const struct communicator_life *lives,
                              int32_t first, struct candidate *candidates)
{
    const struct grouping *of = &work->by_rank;
    size_t begin = of->first[rank], count = 0;
    for (size_t i = 0; i < of->first[rank + 1] - begin; i++) {
        int32_t number = work->members[of->items[begin + i]].communicator;
        const struct work_communicator *communicator = &work->communicators[number];
        if (lives[i].last_used == INT64_MAX || communicator->hash == 0 ||
            communicator->member_count * 2 <= work->communicators[first].member_count)
            continue;
        candidates[count++] =
            (struct candidate){.life = &lives[i],
                               .communicator = number,
                               .member_count = number == first ? INT32_MAX : communicator->member_count,
                               .hash = (uint64_t)communicator->hash};
    }
    array_sort(candidates, count, sizeof *candidates, by_width);
    return count;
}

int shared_list(struct shared_communicators *shared, const struct work *work, int32_t rank,
                const struct communicator_life *lives, int32_t first)
{
    size_t members = work->by_rank.first[rank + 1] - work->by_rank.first[rank], chosen = 0;
    struct candidate *candidates = array_new(members, sizeof *candidates);
    if (!candidates)
        return -1;
    size_t count = list_candidates(work, rank, lives, first, candidates);
    int has_first = count && candidates[0].communicator == first;
    for (size_t i = 0; has_first && i < count && chosen < MOST_SHARED; i++)
        if (is_apart(candidates, chosen, &candidates[i]))
            candidates[chosen++] = candidates[i];
    array_sort(candidates, chosen, sizeof *candidates, by_life);
    shared->items[0] = first;
    shared->count = has_first ? chosen : 1;
    for (size_t i = 0; i < chosen; i++)
        shared->items[i] = candidates[i].communicator;
    free(candidates);
    return 0;
}

int32_t shared_widest(const struct work *work, int32_t rank, const struct communicator_life *lives)
{
    int32_t widest = -1;
    for (size_t at = work->by_rank.first[rank], i = 0; at < work->by_rank.first[rank + 1]; at++, i++) {
        int32_t number = work->members[work->by_rank.items[at]].communicator;
        const struct work_communicator *here = &work->communicators[number];
        const struct work_communicator *best = widest < 0 ? NULL : &work->communicators[widest];
        if (lives[i].last_used == INT64_MAX || here->hash == 0)
            continue;
        if (!best || here->member_count > best->member_count ||
            (here->member_count == best->member_count && (uint64_t)here->hash < (uint64_t)best->hash))
            widest = number;
    }
    return widest;
}

int shared_hold_run(const struct shared_communicators *shared, const struct work *work, int32_t run,
                    int *hold)
{
    unsigned char *held = array_new(work->rank_count, 1);
    if (!held)
        return -1;
    for (size_t i = 0; i < shared->count; i++)
        for (size_t at = work->by_communicator.first[shared->items[i]];
             at < work->by_communicator.first[shared->items[i] + 1]; at++)
            held[work->members[work->by_communicator.items[at]].job_rank] = 1;
    *hold = 1;
    for (size_t at = work->ranks_of_run.first[run]; at < work->ranks_of_run.first[run + 1]; at++) {
        int32_t rank = work->ranks_of_run.items[at];
        *hold &= held[rank] || work->by_rank.first[rank] == work->by_rank.first[rank + 1];
    }
    free(held);
    return 0;
}

#include "join/pending.h"

#include "base/array.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

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

/* The slot that holds the key, or the free one where it would go. */
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

/* Frees a slot and moves those behind it up that would otherwise not be found. */
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

#ifndef NCCLPROF_JOIN_PENDING_H
#define NCCLPROF_JOIN_PENDING_H

#include <stddef.h>
#include <stdint.h>

/*
 * Instances of one communicator that are not through: some of their operations may still come. They have
 * numbers, 0, 1, 2 ... in order of first sight, and leave in that order.
 */

/*
 * What makes operations one. Collectives: kind and function; sequence number; occurrence. Pairs:
 * PENDING_PAIR; ranks of sender and receiver, 32 bits each; ordinal between the two.
 */
struct pending_key {
    uint64_t part[3];
};

#define PENDING_PAIR UINT64_C(0xff0000)

/* How long members stayed in something that nobody leaves before all have come: the last to come stayed
 * least. */
struct pending_stays {
    int32_t count;
    int32_t last_member;
    int64_t least_ns;
    int64_t margin_ns; /* of the second least beyond that */
};

struct pending_instance {
    struct pending_key key;
    uint8_t kind;
    uint8_t function;
    int is_done;  /* nothing more can come */
    int32_t seen; /* operations that have come */
    int32_t
        first_member; /* whose kind, size and tag count: that of the least rank; with a tag, for the tag */
    int32_t tag_member;
    int32_t tag;
    int32_t step;
    int64_t size_bytes;
    int64_t effective_ns;
    struct pending_stays durations;     /* in the whole operation */
    struct pending_stays initial_syncs; /* in the first phase of a symmetric kernel */
    int64_t behind_sync_ns;             /* the least duration beyond that phase */
};

struct pending {
    struct pending_instance *ring; /* owned; number n stands at n modulo capacity */
    size_t capacity;               /* a power of two, or 0 */
    uint64_t first;                /* the least number that has not left */
    uint64_t next;
    uint64_t *slots; /* owned; hash table of number + 1, 0 is free */
    size_t slot_count;
    uint64_t seed;
};

void pending_init(struct pending *pending);
void pending_release(struct pending *pending);

/*
 * The number of the instance with that key, which is added (zeroed, but for the key) when there is none;
 * -1 when memory is out.
 */
int64_t pending_put(struct pending *pending, const struct pending_key *key, int *added);

/* Valid until the next pending_put. */
struct pending_instance *pending_at(const struct pending *pending, uint64_t number);

/* Takes the first one away. */
void pending_pop(struct pending *pending);

#endif

/*
 * One ring of record slots per recording thread: the thread is its only producer, the writer thread its only
 * consumer, and neither ever waits for the other. A full ring refuses, and counts what it refused.
 */
#ifndef PLUGIN_RING_RING_H
#define PLUGIN_RING_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "plugin/ring/record.h"

#define RING_REPEATS 1024u

enum ring_owner { RING_FREE, RING_OWNED, RING_RETIRED };

struct ring {
    /* the producer's side */
    _Alignas(64) _Atomic uint64_t head; /* slots ever published */
    uint64_t tail_seen;
    uint64_t next_handle;
    _Atomic bool pushing;     /* its thread is at it: a signal's handler may come in between and push, too */
    _Atomic uint64_t dropped; /* starts, states, stops and tags that found it full */
    _Atomic uint64_t unknown; /* events and states of no kind that we know */
    uint64_t repeats[RING_REPEATS];
    /* the consumer's side */
    _Alignas(64) _Atomic uint64_t tail; /* slots ever consumed */
    _Atomic int owner;                  /* enum ring_owner */
    bool is_mapped_ahead;
    uint64_t capacity; /* slots, a power of two */
    unsigned char *slots;
};

/* How much room a record leaves for more important ones: a stop must find room where its start did. */
enum ring_urgency { RING_START, RING_STATE, RING_STOP };

/* Room for every ring that a process may make; rings live until the process ends. */
void ring_configure(uint64_t slots_per_ring, unsigned rings_max);

/* The calling thread's ring, made on its first call; null when the limit is reached or memory is short. */
struct ring *ring_mine(void);

/* Publishes slots * 64 bytes. False, and counted, when there is no room, or from within another push. */
bool ring_push(struct ring *ring, const void *record, unsigned slots, enum ring_urgency urgency);

/* True when this key was the last one seen in its place: for states that NCCL repeats while it polls. */
static inline bool ring_repeated(struct ring *ring, uint64_t key)
{
    uint64_t *place = &ring->repeats[(key ^ (key >> 20)) % RING_REPEATS];
    if (*place == key)
        return true;
    *place = key;
    return false;
}

/* For the writer thread. */
unsigned ring_count(void);
struct ring *ring_at(unsigned index);
/*
 * Gives a ring its memory, the first 16 MiB at most, once its thread has published a few slots: it will come
 * to all of them, and a page that it touches first would cost it a fault, in a virtual machine some
 * microseconds. Nothing before Linux 5.14, which cannot do that beside the thread.
 */
void ring_map_ahead(struct ring *ring);
/* The slots from *at to below *limit are to be read. False when there are none. */
bool ring_unread(struct ring *ring, uint64_t *at, uint64_t *limit);
/* Copies the record at slot position `at` (below head) and returns its slots; 0 if the ring holds nonsense.
 */
unsigned ring_copy(const struct ring *ring, uint64_t at, void *record);
uint64_t ring_time_ns(const struct ring *ring, uint64_t at);
/* A retired ring that is empty may be taken by another thread. */
void ring_recycle(struct ring *ring);
/* Records refused so far. */
struct ring_drops {
    uint64_t full;     /* by rings without room */
    uint64_t ringless; /* of threads that got no ring */
    uint64_t other;    /* from within another push, and what was counted by ring_count_dropped */
};
struct ring_drops ring_drops(void);
void ring_count_dropped(void);
uint64_t ring_unknown(void);

/* In a child after fork: every ring belongs to the parent; forget them. */
void ring_forget_all(void);

#endif

#include "plugin/write/ring_reader.h"

#include <stdlib.h>

#include "plugin/ring/clock.h"
#include "plugin/ring/ring.h"

#define PAUSE_NS 1000000u
/* No thread fills a slot faster than this. */
#define SLOT_NS 16u
/* How many slots are taken from a ring before the room is given back to its thread. */
#define BATCH_SLOTS 512u

struct ring_cursor {
    struct ring *ring;
    uint64_t at, limit, time_ns;
};

void ring_reader_init(struct ring_reader *reader, uint64_t slots, void (*take)(void *, const struct record *),
                      void *owner)
{
    *reader = (struct ring_reader){.take = take, .owner = owner, .pause_ns = slots * SLOT_NS / 2};
    if (reader->pause_ns > PAUSE_NS)
        reader->pause_ns = PAUSE_NS;
}

void ring_reader_release(struct ring_reader *reader)
{
    free(reader->cursors);
    reader->cursors = NULL;
}

static bool has_room_for(struct ring_reader *reader, unsigned count)
{
    if (count <= reader->room)
        return true;
    struct ring_cursor *more = realloc(reader->cursors, (size_t)count * 2 * sizeof(*more));
    if (!more)
        return false;
    reader->cursors = more;
    reader->room = count * 2;
    return true;
}

/* Rings that hold something up to `until`; the share of the fullest one, in 1/256. */
static unsigned open_cursors(struct ring_reader *reader, uint64_t until_ns, unsigned *fullest)
{
    unsigned count = ring_count();
    unsigned used = 0;
    if (!has_room_for(reader, count))
        return 0;
    for (unsigned i = 0; i < count; i++) {
        struct ring *ring = ring_at(i);
        int owner = atomic_load_explicit(&ring->owner, memory_order_acquire);
        uint64_t at;
        uint64_t limit;
        if (!ring_unread(ring, &at, &limit)) {
            if (owner == RING_RETIRED)
                ring_recycle(ring);
            continue;
        }
        ring_map_ahead(ring);
        uint64_t time_ns = ring_time_ns(ring, at);
        unsigned full = (unsigned)((limit - at) * 256 / ring->capacity);
        *fullest = full > *fullest ? full : *fullest;
        if (time_ns <= until_ns)
            reader->cursors[used++] = (struct ring_cursor){ring, at, limit, time_ns};
    }
    return used;
}

/* Takes records from one ring while they are older than any other ring's next. False when it has no more. */
static bool take_run(struct ring_reader *reader, struct ring_cursor *cursor, uint64_t until_ns)
{
    uint64_t given_back = cursor->at;
    bool more = true;
    while (cursor->time_ns <= until_ns) {
        unsigned slots = ring_copy(cursor->ring, cursor->at, reader->record);
        if (slots == 0 || slots > cursor->limit - cursor->at)
            slots = (unsigned)(cursor->limit - cursor->at); /* cannot be; but never loop on it */
        else
            reader->take(reader->owner, (const struct record *)reader->record);
        cursor->at += slots;
        if (cursor->at - given_back >= BATCH_SLOTS) {
            atomic_store_explicit(&cursor->ring->tail, cursor->at, memory_order_release);
            given_back = cursor->at;
        }
        more = cursor->at < cursor->limit;
        if (!more)
            break;
        cursor->time_ns = ring_time_ns(cursor->ring, cursor->at);
    }
    atomic_store_explicit(&cursor->ring->tail, cursor->at, memory_order_release);
    return more;
}

/*
 * The time is read before the rings' heads: whatever caused a record that we see was published before it, and
 * is therefore seen too.
 */
uint64_t ring_reader_look(struct ring_reader *reader, uint64_t idle_ns)
{
    unsigned fullest = 0;
    reader->until_ns = clock_monotonic_ns();
    reader->count = open_cursors(reader, reader->until_ns, &fullest);
    return fullest < 4 ? idle_ns : fullest < 32 ? reader->pause_ns : 0;
}

void ring_reader_take(struct ring_reader *reader)
{
    while (reader->count > 0) {
        unsigned first = 0;
        uint64_t second_ns = reader->until_ns;
        for (unsigned i = 1; i < reader->count; i++)
            if (reader->cursors[i].time_ns < reader->cursors[first].time_ns)
                first = i;
        for (unsigned i = 0; i < reader->count; i++)
            if (i != first && reader->cursors[i].time_ns < second_ns)
                second_ns = reader->cursors[i].time_ns;
        bool more = take_run(reader, &reader->cursors[first], second_ns);
        if (!more || reader->cursors[first].time_ns > reader->until_ns)
            reader->cursors[first] = reader->cursors[--reader->count];
    }
}

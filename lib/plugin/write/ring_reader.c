/*
 * Reads the rings of all threads in the order of the times of their records, for the writer thread. Also the
 * start of threads, PyTorch's allocator setting, and the report of losses.
 */
#include "plugin/ring/api.h"
#include "plugin/ring/record.h"
#include "plugin/ring/ring.h"
#include "plugin/tree/tree.h"
#include "plugin/write/write.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>

#define PAUSE_NS 1000000u
/* The least time in which a thread fills a slot. */
#define SLOT_NS 16u
/* Number of slots taken from a ring before their space is returned to its thread. */
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

/*
 * Collects the rings that hold records up to `until_ns`. Returns the fill level of the fullest one, in 1/256.
 */
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
        if (!ring_next_range(ring, &at, &limit)) {
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

/*
 * Takes records from one ring while they are older than the next record of any other ring. Returns false when
 * the ring has no more.
 */
static bool take_run(struct ring_reader *reader, struct ring_cursor *cursor, uint64_t until_ns)
{
    uint64_t given_back = cursor->at;
    bool more = true;
    while (cursor->time_ns <= until_ns) {
        unsigned slots = ring_copy(cursor->ring, cursor->at, reader->record);
        if (slots == 0 || slots > cursor->limit - cursor->at)
            slots = (unsigned)(cursor->limit - cursor->at); /* cannot happen, but must not loop */
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
 * The time is read before the heads of the rings. A cause is published before its effect, so if we see a
 * record, we also see the records that caused it.
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

/* To name another thread, the C library would have to write to a file. */
void thread_name(const char *name)
{
    (void)prctl(PR_SET_NAME, name);
}

int thread_start(void *(*run)(void *), void *argument)
{
    pthread_t thread;
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return -1;
    int result = pthread_create(&thread, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (result != 0)
        return -1;
    pthread_detach(thread);
    return 0;
}

/* The values that PyTorch treats as true (torch/csrc/distributed/c10d/Utils.hpp, getCvarBool). */
static bool is_true(const char *value)
{
    static const char *const words[] = {"y", "yes", "1", "t", "true"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcasecmp(value, words[i]) == 0)
            return true;
    return false;
}

/* Older versions use the second name. As in PyTorch, the first one that is set counts. */
bool allocator_hook_is_on(void)
{
    static const char *const names[] = {"TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK",
                                        "NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = getenv(names[i]);
        if (value)
            return is_true(value);
    }
    return false;
}

static void log_drop(const char *path, uint64_t count, uint64_t before, const char *cause,
                     const char *settings)
{
    if (count && !before)
        log_line(API_LOG_WARN, "%s are dropped and counted in %s%s", cause, path, settings);
}

/* Logs each cause once. */
static void log_drops(const struct drops *drops, const struct notes_drops *now,
                      const struct ring_drop_counts *rings, const char *path)
{
    const struct ring_drop_counts *before = &drops->logged;
    log_drop(path, rings->without_ring, before->without_ring,
             "there are more threads than rings; events of some threads", " (NCCLPROF_MAX_THREADS)");
    log_drop(path, rings->full, before->full, "events arrive faster than they can be written; some events",
             " (NCCLPROF_BUFFER_EVENTS, NCCLPROF_EVENT_MASK)");
    log_drop(path, rings->other, before->other,
             "tags that a signal handler sets during an event, or for which there is no memory,", "");
    if (now->communicators && !drops->written.communicators)
        log_line(API_LOG_WARN,
                 "some communicators have no number: there are too many, or they were not added in time; "
                 "their operations are recorded without a communicator in %s",
                 path);
}

/* Inspector has no line of its own for losses, so one is written only if operations may be missing. */
static bool concerns_inspector(const struct notes_drops *now, const struct notes_drops *before, bool always)
{
    bool any = now->ring || now->lost || now->evicted || now->orphans || now->unknown || now->communicators;
    struct notes_drops but_late = *now;
    but_late.late = before->late;
    return any && (always || memcmp(&but_late, before, sizeof(but_late)) != 0);
}

void drops_write(struct drops *drops, const struct tree_counts *counts, struct chrome *chrome,
                 struct inspector *inspector, bool always)
{
    struct ring_drop_counts rings = ring_drop_counts();
    struct notes_drops now = {.ring = rings.full + rings.without_ring + rings.other,
                              .lost = counts->lost,
                              .evicted = counts->evicted,
                              .late = counts->late,
                              .orphans = counts->orphans,
                              .unknown = ring_unknown(),
                              .communicators = communicator_refused()};
    if (!always && memcmp(&now, &drops->written, sizeof(now)) == 0)
        return;
    log_drops(drops, &now, &rings, chrome ? chrome->sink->path : inspector ? inspector->sink->path : "");
    if (chrome)
        notes_drops(chrome, &now, clock_monotonic_ns());
    if (inspector && concerns_inspector(&now, &drops->written, always))
        inspector_drops(inspector, &now);
    drops->written = now;
    drops->logged = rings;
}

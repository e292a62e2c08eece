#ifndef NCCLPROF_PLUGIN_RING_RING_H
#define NCCLPROF_PLUGIN_RING_RING_H

#include "plugin/ring/api.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct timespec;

/* -------------------- communicator.c -------------------- */

/*
 * Communicators that NCCL has told us of. NCCL holds a small number as its context, never a pointer: with PXN
 * it hands us the context of another process, and after finalize one that is gone.
 */

#define COMMUNICATORS_MAX 65536u

/* Which version 7 its NCCL speaks. */
enum api_dialect {
    DIALECT_OTHER,    /* another version, or unknown */
    DIALECT_RELEASED, /* NCCL 2.31's */
    DIALECT_TAGS,     /* NVIDIA/nccl pull request 2045's */
};

struct communicator {
    uint64_t hash; /* 0: unknown (versions 1 to 3 tell it with the operations) */
    int rank;      /* -1: unknown */
    int ranks;     /* -1: unknown */
    int nodes;     /* -1: unknown */
    unsigned api;  /* version of NCCL's interface */
    enum api_dialect dialect;
    uint32_t mask; /* enum api_event: what is recorded of it */
    char name[128];
};

/* The number of a copy, from 1 on; 0 when there are too many or memory is short. Callers take turns. */
uint32_t communicator_add(const struct communicator *communicator);

/* That it ended, where no ring had room to say so. */
void communicator_end(uint32_t number);
bool communicator_ended(uint32_t number);
/* How many did so: whoever saw as many need not look at each. */
uint32_t communicator_ends(void);

/* Any thread. Numbers 1 to count are readable; they stay for good. */
uint32_t communicator_count(void);
const struct communicator *communicator_at(uint32_t number);
/* On the event path, for any number that NCCL may come with: DIALECT_OTHER for one that is none of ours. */
enum api_dialect communicator_dialect(uint32_t number);
/* How many found no number: their events have none either. */
uint64_t communicator_refused(void);
/* Counts one that is not added at all. */
void communicator_refuse(void);

/* In a child after fork: they were the parent's. */
void communicator_forget_all(void);

/* -------------------- ring.c -------------------- */

/*
 * One ring of record slots per recording thread: the thread is its only producer, the writer thread its only
 * consumer, and neither ever waits for the other. A full ring refuses, and counts what it refused.
 */

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
struct ring *ring_of_thread(void);

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
bool ring_next_range(struct ring *ring, uint64_t *at, uint64_t *limit);
/* Copies the record at slot position `at` (below head) and returns its slots; 0 if the ring holds nonsense.
 */
unsigned ring_copy(const struct ring *ring, uint64_t at, void *record);
uint64_t ring_time_ns(const struct ring *ring, uint64_t at);
/* A retired ring that is empty may be taken by another thread. */
void ring_recycle(struct ring *ring);
/* Records refused so far. */
struct ring_drop_counts {
    uint64_t full;     /* by rings without room */
    uint64_t ringless; /* of threads that got no ring */
    uint64_t other;    /* from within another push, and what was counted by ring_count_dropped */
};
struct ring_drop_counts ring_drop_counts(void);
void ring_count_dropped(void);
uint64_t ring_unknown(void);

/* In a child after fork: every ring belongs to the parent; forget them. */
void ring_forget_all(void);

/* The one clock of every recorded event: CLOCK_MONOTONIC, nanoseconds. */

static inline uint64_t clock_read_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t clock_monotonic_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC);
}

/* Waiting for a word of memory to change: by the kernel alone, with nothing in between that a signal can
 * leave half done.
 */

/* While the word is as seen, and for no reason at times; false past until_ns of CLOCK_MONOTONIC. */
static inline bool futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t until_ns)
{
    struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000u),
                             .tv_nsec = (long)(until_ns % 1000000000u)};
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, seen, &until, NULL, FUTEX_BITSET_MATCH_ANY);
    return clock_monotonic_ns() < until_ns;
}

static inline void futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* -------------------- communicator.c -------------------- */

/* Texts of the application's that are too long. */

/* How much of a text to keep: at most `most` bytes, and no half of a UTF-8 sequence at the end. */
static inline size_t text_cut(const char *text, size_t length, size_t most)
{
    if (length <= most)
        return length;
    while (most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80)
        most--;
    return most;
}

/* -------------------- tag_name.c -------------------- */

/*
 * What the application calls the numbers that it tags operations with (NCCL 2.31): ncclprof_tag_name. Names
 * are the program's, not a moment's: they may come before recording begins, and a child of fork has its
 * parent's.
 */

#define TAG_NAME_BYTES 255u
/* Renamings included. */
#define TAG_NAMES_MAX 1024u

struct tag_name {
    uint64_t number;
    char text[TAG_NAME_BYTES + 1];
};

/* For the writer thread, without a lock: names 0 to count - 1 never change, the last one of a number holds.
 */
unsigned tag_name_count(void);
const struct tag_name *tag_name_at(unsigned index);
/* Null for a number without a name. */
const char *tag_name_of(uint64_t number);

/* -------------------- log.c -------------------- */

/* One line to whoever runs the job, through NCCL's own logger where it gives one. */

/* Null while no communicator lives: NCCL may be unloaded then. */
void log_set(api_logger *logger);

/* The highest level that goes to standard error where there is no logger (versions 1 to 3); 0: none does. */
void log_limit(int most);

void log_line(enum api_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same by this logger, or none: in a call of NCCL's it is there, whether a communicator lives or not. */
void log_line_by(api_logger *logger, enum api_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * A lock that tells at every instruction whose it is. exit() may be called by a signal's handler in the
 * middle of anything, and what runs then must know what its own thread holds; a mutex of the C library's is
 * for some instructions held by nobody that it knows of.
 */

/* Whoever holds one copies a few bytes or asks the kernel for memory: longer waits mean that it is gone, as
 * in a child of clone() that no fork handler knows of. But fork() holds some for as long as the kernel copies
 * the page tables, which takes 0.05 seconds for each GB that the process uses. */
#ifndef LOCK_WAIT_NS
#define LOCK_WAIT_NS 500000000u
#endif

struct lock {
    _Atomic uint32_t holder; /* as the kernel numbers threads; 0: nobody */
};

/* LOCK_MINE: the thread held it before, and still has to release it only once. */
enum lock_result { LOCK_TAKEN, LOCK_MINE, LOCK_TIMEOUT };

/* Waits at most LOCK_WAIT_NS: nothing in the plugin waits without a limit. */
enum lock_result lock_take(struct lock *lock);
/* The same with a time of CLOCK_MONOTONIC; one that is over: takes it only if nobody holds it. */
enum lock_result lock_take_until(struct lock *lock, uint64_t until_ns);
void lock_release(struct lock *lock);

#endif

/*
 * The rings that carry records from the threads of the job to the writer thread, and what both sides
 * share: communicators, tag names, the log, locks and the clock.
 */
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
 * The registry of communicators. NCCL holds a small number as its context, never a pointer. With PXN, NCCL
 * passes the context of another process, and after finalize a context that no longer exists.
 */

#define COMMUNICATORS_MAX 65536u

/* Which version 7 of the interface the NCCL of a communicator uses. */
enum api_dialect {
    DIALECT_OTHER,    /* another version, or unknown */
    DIALECT_RELEASED, /* version 7 of NCCL 2.31 */
    DIALECT_TAGS,     /* version 7 of NVIDIA/nccl pull request 2045 */
};

struct communicator {
    uint64_t hash; /* 0: unknown (versions 1 to 3 pass it with each operation) */
    int rank;      /* -1: unknown */
    int ranks;     /* -1: unknown */
    int nodes;     /* -1: unknown */
    unsigned api;  /* version of the profiler interface */
    enum api_dialect dialect;
    uint32_t mask; /* event types that are recorded, bits of enum api_event */
    char name[128];
};

/*
 * Adds a copy and returns its number, from 1 on. Returns 0 when there are too many or memory is short. Calls
 * must not run at the same time.
 */
uint32_t communicator_add(const struct communicator *communicator);

/* Marks a communicator as ended. Used when no ring had space for the end record. */
void communicator_end(uint32_t number);
bool communicator_ended(uint32_t number);
/*
 * Number of calls of communicator_end. A reader that saw the same number before need not check each
 * communicator again.
 */
uint32_t communicator_ends(void);

/* Numbers 1 to count may be read. They are kept until the process ends. */
uint32_t communicator_count(void);
const struct communicator *communicator_at(uint32_t number);
/* For the event path. Accepts any number that NCCL may pass, and returns DIALECT_OTHER for an unknown one. */
enum api_dialect communicator_dialect(uint32_t number);
/* Number of communicators that received no number. Their events carry number 0. */
uint64_t communicator_refused(void);
/* Counts a communicator that is not added. */
void communicator_refuse(void);

/* For a child after fork: the communicators belong to the parent. */
void communicator_forget_all(void);

/* -------------------- ring.c -------------------- */

/*
 * Each recording thread has one ring of record slots. The thread is the only producer, the writer thread is
 * the only consumer, and neither waits for the other. A full ring refuses records and counts them.
 */

#define RING_REPEATS 1024u

enum ring_owner { RING_FREE, RING_OWNED, RING_RETIRED };

struct ring {
    /* written by the producer */
    _Alignas(64) _Atomic uint64_t head; /* slots published since the start */
    uint64_t tail_seen;
    uint64_t next_handle;
    _Atomic bool pushing; /* the thread is inside ring_push: a signal handler may interrupt it and push too */
    _Atomic uint64_t dropped; /* starts, states, stops and tags refused because the ring was full */
    _Atomic uint64_t unknown; /* events and states of an unknown kind */
    uint64_t repeats[RING_REPEATS];
    /* written by the consumer */
    _Alignas(64) _Atomic uint64_t tail; /* slots consumed since the start */
    _Atomic int owner;                  /* enum ring_owner */
    bool is_mapped_ahead;
    uint64_t capacity; /* slots, a power of two */
    unsigned char *slots;
};

/* How much space a record must leave for more important ones: if a start fits, its stop must fit too. */
enum ring_urgency { RING_START, RING_STATE, RING_STOP };

/* Sets the size and the number of the rings that the process may make. Rings live until the process ends. */
void ring_configure(uint64_t slots_per_ring, unsigned rings_max);

/*
 * Returns the ring of the calling thread and makes it on the first call. Null when the limit is reached or
 * memory is short.
 */
struct ring *ring_of_thread(void);

/*
 * Publishes slots * 64 bytes. Returns false and counts the record when there is no space, or when called from
 * inside another push of the same thread.
 */
bool ring_push(struct ring *ring, const void *record, unsigned slots, enum ring_urgency urgency);

/* True if this key was the last one seen in its entry. Filters states that NCCL repeats while it polls. */
static inline bool ring_repeated(struct ring *ring, uint64_t key)
{
    uint64_t *place = &ring->repeats[(key ^ (key >> 20)) % RING_REPEATS];
    if (*place == key)
        return true;
    *place = key;
    return false;
}

/* These functions are for the writer thread. */
unsigned ring_count(void);
struct ring *ring_at(unsigned index);
/*
 * Maps the memory of a ring ahead of use, at most the first 16 MiB, once its thread has published a few
 * slots. The thread will use all slots, and the first access to a page costs a page fault, which takes some
 * microseconds in a virtual machine. Does nothing before Linux 5.14, which cannot do this while the thread
 * runs.
 */
void ring_map_ahead(struct ring *ring);
/*
 * Sets the range of slots that can be read: from *at up to but not including *limit. Returns false if it is
 * empty.
 */
bool ring_next_range(struct ring *ring, uint64_t *at, uint64_t *limit);
/*
 * Copies the record at slot position `at`, which is below head, and returns its number of slots. Returns 0 if
 * the ring content is invalid.
 */
unsigned ring_copy(const struct ring *ring, uint64_t at, void *record);
uint64_t ring_time_ns(const struct ring *ring, uint64_t at);
/* Lets another thread take a retired ring that is empty. */
void ring_recycle(struct ring *ring);
/* Number of records refused since the start. */
struct ring_drop_counts {
    uint64_t full;         /* by full rings */
    uint64_t without_ring; /* from threads that have no ring */
    uint64_t other;        /* from inside another push, or counted by ring_count_dropped */
};
struct ring_drop_counts ring_drop_counts(void);
void ring_count_dropped(void);
uint64_t ring_unknown(void);

/* For a child after fork: forgets all rings, because they belong to the parent. */
void ring_forget_all(void);

/* All recorded events use one clock: CLOCK_MONOTONIC, in nanoseconds. */

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

/*
 * Waiting until a word of memory changes. Only the kernel is involved, so a signal cannot leave any state
 * half changed.
 */

/*
 * Waits while *word equals `seen`; may also return early for no reason. Returns false when until_ns
 * (CLOCK_MONOTONIC) has passed.
 */
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

/* Truncation of long texts that come from the application. */

/*
 * Returns how many bytes of a text to keep: at most `most`, without an incomplete UTF-8 sequence at the end.
 */
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
 * Names that the application gives to the numbers with which it tags operations (NCCL 2.31), by
 * ncclprof_tag_name. Names belong to the whole program: they may be set before recording begins, and a child
 * of fork keeps the names of its parent.
 */

#define TAG_NAME_BYTES 255u
/* Includes names that replace others. */
#define TAG_NAMES_MAX 1024u

struct tag_name {
    uint64_t number;
    char text[TAG_NAME_BYTES + 1];
};

/*
 * For the writer thread, without a lock. Names 0 to count - 1 never change. If a number has several names,
 * the last one counts.
 */
unsigned tag_name_count(void);
const struct tag_name *tag_name_at(unsigned index);
/* Null if the number has no name. */
const char *tag_name_of(uint64_t number);

/* -------------------- log.c -------------------- */

/* Log lines for the user who runs the job. They go through NCCL's own logger if there is one. */

/* Null while no communicator is live, because NCCL may be unloaded then. */
void log_set(api_logger *logger);

/*
 * Sets the highest level that is written to standard error if there is no logger (versions 1 to 3). 0:
 * nothing is written.
 */
void log_limit(int most);

void log_line(enum api_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Like log_line, but uses the given logger, which may be null. Inside a call from NCCL the logger is valid
 * even if no communicator is live.
 */
void log_line_by(api_logger *logger, enum api_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * A lock that always shows which thread holds it. A signal handler may call exit() at any instruction, and
 * the code that runs then must know what its own thread holds. A mutex of the C library does not record its
 * owner for some instructions.
 */

/*
 * A holder only copies a few bytes or asks the kernel for memory. A longer wait means that the holder is
 * gone, as in a child of clone(), which calls no fork handlers. The exception is fork(): it holds some locks
 * while the kernel copies the page tables, which takes 0.05 seconds for each GB that the process uses.
 */
#ifndef LOCK_WAIT_NS
#define LOCK_WAIT_NS 500000000u
#endif

struct lock {
    _Atomic uint32_t holder; /* thread ID of the kernel; 0: free */
};

/* LOCK_MINE: the thread already held the lock. It still has to release it only once. */
enum lock_result { LOCK_TAKEN, LOCK_MINE, LOCK_TIMEOUT };

/* Waits at most LOCK_WAIT_NS. Nothing in the plugin waits without a limit. */
enum lock_result lock_take(struct lock *lock);
/*
 * Like lock_take, but waits until a time of CLOCK_MONOTONIC. If the time has passed, takes the lock only if
 * it is free.
 */
enum lock_result lock_take_until(struct lock *lock, uint64_t until_ns);
void lock_release(struct lock *lock);

#endif

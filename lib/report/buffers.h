#ifndef NCCLPROF_REPORT_BUFFERS_H
#define NCCLPROF_REPORT_BUFFERS_H

#include "model/model.h"

#include <stddef.h>
#include <stdint.h>

struct block_scan;
struct roster;
struct roster_member;
struct store;

/* -------------------- memory_snapshots.c -------------------- */

/*
 * Registered memory of one rank or communicator: ranges of addresses, each from a moment to another. Moments
 * are told by a log in numbers of calls, by an allocator in wall-clock time.
 */

enum { RANGES_NO_CALLS = -1 };

struct range {
    uint64_t begin;           /* rounded to pages as NCCL does (src/register/register.cc) */
    uint64_t end;             /* one beyond the last byte; UINT64_MAX where that overflows */
    int64_t id;               /* in order of which they were told, within one file */
    struct interval_ns alive; /* wall clock; TIME_UNKNOWN: always, for ever */
    int32_t made;             /* which of `calls` came before it was; RANGES_NO_CALLS */
    int32_t ended;            /* likewise; RANGES_NO_CALLS: never, that we know of */
    int is_expandable;
};

struct ranges {
    struct range *items; /* owned; by address once ranges_finish has been called */
    uint64_t *reach;     /* owned: greatest end of all up to an item */
    size_t count;
    size_t capacity;
    int64_t (*calls)[FUNCTION_COUNT]; /* owned: how many of each function came before a moment */
    size_t call_count;
    size_t call_capacity;
};

/* When a call was made. */
struct call_place {
    enum function function;
    int64_t number;  /* of its function on the communicator, from 0; COUNT_UNKNOWN */
    int64_t wall_ns; /* TIME_UNKNOWN */
};

enum coverage {
    COVERED,         /* all of the buffer is in one range */
    COVERED_NOT,     /* no byte of it is in any, ever */
    COVERED_LATER,   /* it is in one that came later */
    COVERED_NO_MORE, /* ... that had gone */
    COVERED_BY_TWO,  /* it begins in one and ends in another */
    COVERED_PARTLY,  /* part of it is in one */
    COVERED_EXPANDABLE
};

void ranges_release(struct ranges *ranges); /* also one that is all 0 */

/* The number of a moment, for a range's `made` and `ended`; -1: no memory. */
int32_t ranges_moment(struct ranges *ranges, const int64_t *calls);

/* Adds memory; the range's begin and end are made of address and size. -1: no memory. */
int ranges_add(struct ranges *ranges, uint64_t address, int64_t bytes, const struct range *range);

/* Orders what was added. What is registered again at the same address had ended before. -1: no memory. */
int ranges_finish(struct ranges *ranges);

/* That what holds an address, told before `id`, ended at a moment. After ranges_finish. */
void ranges_end(struct ranges *ranges, uint64_t address, int64_t id, int32_t moment);

/* How a buffer of a call lies in them; `bytes` is above 0. */
enum coverage ranges_cover(const struct ranges *ranges, uint64_t address, uint64_t bytes,
                           const struct call_place *place);

/* -------------------- registered_memory.c -------------------- */

/*
 * What a store knows of registered memory, and what it says of a call. NCCL's log counts where it lists the
 * calls of a rank; else an allocator's snapshot, by the rule of torch's hook
 * (TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK, ProcessGroupNCCL.cpp): every segment is registered with
 * every communicator of its process from segment_alloc to segment_free; expandable ones never are.
 */

/* Whether the hook was on. */
enum hook_state { HOOK_NOT_SAID, HOOK_ON, HOOK_OFF };

enum memory_source { SOURCE_NONE, SOURCE_LOG, SOURCE_SNAPSHOT };

/* Of a member of a communicator, by its number in the roster. */
struct known_member {
    struct ranges log;
    int is_watched;  /* its calls are listed where registrations would be told */
    int64_t file_id; /* of the calls that are being counted */
    int64_t counts[FUNCTION_COUNT];
};

/* Of a rank of a job, by its number in the roster. */
struct known_rank {
    enum hook_state hook; /* as its recorder says */
    struct ranges segments;
    int has_snapshot;
    int64_t latest_ns;           /* the snapshots tell of nothing later, wall clock; TIME_UNKNOWN */
    int64_t wall_minus_local_ns; /* TIME_UNKNOWN */
};

struct registration_index {
    const struct roster *roster;
    struct known_member *members; /* owned */
    struct known_rank *ranks;     /* owned */
    struct map uses;              /* member, function, number -> bits of how it was used */
    int64_t registrations;        /* that logs tell of */
    int64_t watched;              /* members whose calls a log lists */
    int64_t snapshots;            /* of ranks of the roster */
    int64_t strange_snapshots;    /* of which nobody knows whose they are */
    enum hook_state hook;         /* as whoever asks says; else recorders, else logs of the run do */
    int64_t assumed;              /* calls judged as if it had been on, of which nothing says so */
};

/* Release it whatever comes back. The roster, with its members, is borrowed. */
int known_memory_load(struct registration_index *known, struct store *store, const struct roster *roster,
                      int64_t run_id, enum hook_state hook, struct error *error);
void known_memory_release(struct registration_index *known);

/* An operation of a member, as it is stored, in order of its number in its file. */
struct known_call {
    const struct roster_member *member;
    int64_t file_id;
    enum function function;
    int64_t sequence; /* COUNT_UNKNOWN */
    int64_t bytes;
    int64_t root;
    int64_t local_ns; /* when it was issued, on its process's clock; TIME_UNKNOWN */
    uint64_t send_buffer;
    uint64_t receive_buffer;
};

/* What became of a call's buffers: the worse of two. */
enum memory_state {
    MEMORY_REGISTERED,
    MEMORY_NOT_REGISTERED,
    MEMORY_LATER,
    MEMORY_FREED,
    MEMORY_STRADDLES,
    MEMORY_PARTLY,
    MEMORY_EXPANDABLE,
    MEMORY_HOOK_OFF,
    MEMORY_AFTER_SNAPSHOT, /* from here on nothing can be said */
    MEMORY_NO_BUFFERS,
    MEMORY_NO_SOURCE,
    MEMORY_STATES
};

/* Whether the state says anything of registration. */
static inline int memory_is_judged(enum memory_state state)
{
    return state < MEMORY_AFTER_SNAPSHOT;
}

struct registration_check {
    enum memory_state state;
    enum memory_source source;
    int can_be_used; /* a log would tell that it was used */
    int is_used;
    int has_failed; /* NCCL tried, and could not */
};

/* Wants the calls of each member in order: it counts those without a sequence. */
struct registration_check known_memory_judge(struct registration_index *known, const struct known_call *call);

/* Before the calls are gone through once more. */
void known_memory_restart(struct registration_index *known);

/* Whether it is known when a call was made, on the wall clock. */
int known_memory_has_time(const struct registration_index *known, const struct known_call *call);

/* "not registered": a phrase for people. */
const char *memory_state_text(enum memory_state state);

/* -------------------- buffer_shares.c -------------------- */

/* How much of what calls moved lay on registered memory, by groups. */

enum share_key {
    SHARE_COMMUNICATOR,
    SHARE_TAG,
    SHARE_FUNCTION,
    SHARE_SIZE,
    SHARE_RANK,
    SHARE_STEP,
    SHARE_RUN,
    SHARE_KEYS
};

/* Whether a key's number is that of a text in `texts`. */
int share_key_is_text(enum share_key key);

struct share_group {
    int64_t key[SHARE_KEYS]; /* in the order of `by`: the number itself, of a rank that in the roster, or that
                                of its text; -1: not known */
    int64_t calls;           /* records of single ranks */
    int64_t bytes;           /* count x type size, as the API got them */
    int64_t judged_bytes;    /* of calls of which it is known whether their memory was registered */
    int64_t registered_calls;
    int64_t registered_bytes; /* of calls whose buffers all were */
    int64_t usable_bytes;     /* of calls of which a log would tell that the registration was used */
    int64_t used_bytes;       /* ... and does */
    int64_t failed_calls;     /* NCCL tried to use it, and could not */
    int64_t state_calls[MEMORY_STATES];
    int64_t state_bytes[MEMORY_STATES];
    double lost_ns;   /* what operations on other memory took beyond registered ones of the same size
                         (buffer_shares.c) */
    int64_t compared; /* operations that stands on; 0: there is nothing to compare */
};

/* What is left out. Texts are borrowed; NULL: any. */
struct share_filter {
    int64_t first_step;
    int64_t last_step;
    const char *tag;
    const char *communicator;
    int (*has_rank)(const void *context, int64_t global_rank); /* NULL: all */
    const void *context;
};

struct shares {
    enum share_key by[SHARE_KEYS];
    size_t by_count;
    struct share_filter filter;
    struct share_group *groups; /* owned */
    size_t count;
    size_t capacity;
    struct intern texts;
    struct intern group_names;
    int64_t source_calls[3]; /* by enum memory_source, of all groups */
    int64_t timeless_calls;  /* judged by a snapshot without a time: when its segments came and went says
                                nothing */
};

void shares_init(struct shares *shares);
void shares_release(struct shares *shares);

/* Sums up the calls of a run, 0: of all. */
int shares_read(struct shares *shares, struct registration_index *known, struct store *store, int64_t run_id,
                struct error *error);

/* The most bytes that were not registered come first; equals in the order of their keys, texts by the
 * alphabet. Once, after all is read. -1 when memory is out. */
int shares_sort(struct shares *shares);

/* -------------------- registered_memory.c -------------------- */

/*
 * What of its buffers a call touches on a rank: NCCL's API, src/nccl.h.in. `bytes` is count x type size as
 * the API got them, `ranks` the communicator's size (0: not known, then no more than `bytes` is asked for).
 */
struct needs {
    uint64_t send_bytes; /* 0: it reads none */
    uint64_t receive_bytes;
};

struct needs call_buffer_sizes(enum function function, int64_t bytes, int64_t ranks, int is_root);

/* -------------------- buffer_shares.c -------------------- */

/* What known_memory_judge asks of an operation, out of a block of which these columns are unpacked. */

enum { STORED_CALL_COLUMNS = 9 };
extern const int stored_call_columns[STORED_CALL_COLUMNS];

struct known_call stored_call(const struct block_scan *scan, const struct roster_member *member, size_t row);

/* Fills in lost_ns and compared of the groups; after shares_read, for whose calls it goes through them again.
 */
int shares_cost(struct shares *shares, struct registration_index *known, struct store *store, int64_t run_id,
                struct error *error);

/* -------------------- memory_snapshots.c -------------------- */

/*
 * Allocator snapshots name no process: a rank's is the one whose file is called so, of the run in whose
 * directories it lies. Fills in what is known of ranks, and their clocks.
 */
int snapshots_load(struct registration_index *known, struct store *store, int64_t run_id,
                   struct error *error);

#endif

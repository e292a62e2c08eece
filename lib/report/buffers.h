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
 * Registered memory of one rank or communicator, as address ranges, each with a lifetime. A log gives the
 * start and end as numbers of calls, an allocator snapshot as wall-clock times.
 */

enum { RANGES_NO_CALLS = -1 };

struct range {
    uint64_t begin;           /* rounded to pages as in NCCL (src/register/register.cc) */
    uint64_t end;             /* one past the last byte; UINT64_MAX on overflow */
    int64_t id;               /* order in which the ranges were recorded, within one file */
    struct interval_ns alive; /* wall clock; TIME_UNKNOWN: no lower bound, no upper bound */
    int32_t made;             /* index in `calls` of the calls before it was registered; RANGES_NO_CALLS */
    int32_t ended;            /* the same for its deregistration; RANGES_NO_CALLS: no end is recorded */
    int is_expandable;
};

struct ranges {
    struct range *items; /* owned; sorted by address after ranges_finish */
    uint64_t *reach;     /* owned: per item, the greatest end of all items up to it */
    size_t count;
    size_t capacity;
    int64_t (*calls)[FUNCTION_COUNT]; /* owned: per moment, the number of earlier calls of each function */
    size_t call_count;
    size_t call_capacity;
};

/* When a call was made. */
struct call_place {
    enum function function;
    int64_t number;  /* number among the calls of its function on the communicator, from 0; COUNT_UNKNOWN */
    int64_t wall_ns; /* TIME_UNKNOWN */
};

enum coverage {
    COVERED,         /* the whole buffer is in one range */
    COVERED_NOT,     /* no byte of it is ever in a range */
    COVERED_LATER,   /* it is in a range that was registered later */
    COVERED_EARLIER, /* it is in a range that had been deregistered */
    COVERED_BY_TWO,  /* it begins in one range and ends in another */
    COVERED_PARTLY,  /* only a part of it is in a range */
    COVERED_EXPANDABLE
};

void ranges_release(struct ranges *ranges); /* accepts a zeroed struct */

/* Adds a moment; returns its number, for `made` and `ended` of a range. -1: memory is out. */
int32_t ranges_moment(struct ranges *ranges, const int64_t *calls);

/*
 * Adds memory. Begin and end of the range are computed from address and size. Returns -1 when memory is out.
 */
int ranges_add(struct ranges *ranges, uint64_t address, int64_t bytes, const struct range *range);

/*
 * Sorts the ranges. If an address is registered twice, the first registration ends where the second begins.
 * Returns -1 when memory is out.
 */
int ranges_finish(struct ranges *ranges);

/*
 * Ends the range that contains an address and was recorded before `id`, at a moment. Call after
 * ranges_finish.
 */
void ranges_end(struct ranges *ranges, uint64_t address, int64_t id, int32_t moment);

/* How the buffer of a call is covered by the ranges. `bytes` is greater than 0. */
enum coverage ranges_cover(const struct ranges *ranges, uint64_t address, uint64_t bytes,
                           const struct call_place *place);

/* -------------------- registered_memory.c -------------------- */

/*
 * What a store knows about registered memory, and what follows for each call. If NCCL's log lists the calls
 * of a rank, the log decides. Otherwise an allocator snapshot decides, by the rule of torch's hook
 * (TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK, ProcessGroupNCCL.cpp): every segment is registered with
 * every communicator of its process from segment_alloc to segment_free; expandable segments never are.
 */

/* Whether torch's allocator hook was on. */
enum hook_state { HOOK_NOT_SAID, HOOK_ON, HOOK_OFF };

enum memory_source { SOURCE_NONE, SOURCE_LOG, SOURCE_SNAPSHOT };

/* A member of a communicator, at its index in the roster. */
struct known_member {
    struct ranges log;
    int is_watched;  /* a log that lists its calls would also list its registrations */
    int64_t file_id; /* file of the calls that are being counted */
    int64_t counts[FUNCTION_COUNT];
};

/* A rank of a job, at its index in the roster. */
struct known_rank {
    enum hook_state hook; /* according to its recorder */
    struct ranges segments;
    int has_snapshot;
    int64_t latest_ns;           /* wall-clock time of the newest event in its snapshots; TIME_UNKNOWN */
    int64_t wall_minus_local_ns; /* TIME_UNKNOWN */
};

struct registration_index {
    const struct roster *roster;
    struct known_member *members; /* owned */
    struct known_rank *ranks;     /* owned */
    struct map uses;              /* member, function, number -> bits of how the registration was used */
    int64_t registrations;        /* number found in logs */
    int64_t watched;              /* number of members whose calls a log lists */
    int64_t snapshots;            /* number of snapshots of ranks in the roster */
    int64_t unmatched_snapshots;  /* number of snapshots that match no rank */
    enum hook_state hook;         /* set by the user; else by the recorders, else by the logs of the run */
    int64_t assumed;              /* calls judged as if the hook had been on, although nothing records that */
};

/* The roster, with its members, is borrowed. Release `known` in any case. Returns -1 on error. */
int known_memory_load(struct registration_index *known, struct store *store, const struct roster *roster,
                      int64_t run_id, enum hook_state hook, struct error *error);
void known_memory_release(struct registration_index *known);

/* An operation of a member as it is stored. Operations come in the order of their numbers in their file. */
struct known_call {
    const struct roster_member *member;
    int64_t file_id;
    enum function function;
    int64_t sequence; /* COUNT_UNKNOWN */
    int64_t bytes;
    int64_t root;
    int64_t local_ns; /* when it was issued, on the clock of its process; TIME_UNKNOWN */
    uint64_t send_buffer;
    uint64_t receive_buffer;
};

/* The state of a call's buffers: the worse one of its two buffers. */
enum memory_state {
    MEMORY_REGISTERED,
    MEMORY_NOT_REGISTERED,
    MEMORY_LATER,
    MEMORY_FREED,
    MEMORY_STRADDLES,
    MEMORY_PARTLY,
    MEMORY_EXPANDABLE,
    MEMORY_HOOK_OFF,
    MEMORY_AFTER_SNAPSHOT, /* this state and those below: cannot be determined */
    MEMORY_NO_BUFFERS,
    MEMORY_NO_SOURCE,
    MEMORY_STATES
};

/* Whether the state determines if the memory was registered. */
static inline int memory_is_judged(enum memory_state state)
{
    return state < MEMORY_AFTER_SNAPSHOT;
}

struct registration_check {
    enum memory_state state;
    enum memory_source source;
    int can_be_used; /* the log would show if the registration was used */
    int is_used;
    int has_failed; /* NCCL tried to use it and failed */
};

/* Call it for the calls of each member in order: it counts calls that have no sequence number. */
struct registration_check known_memory_judge(struct registration_index *known, const struct known_call *call);

/* Call it before a second pass over the calls. */
void known_memory_restart(struct registration_index *known);

/* Whether the wall-clock time of a call is known. */
int known_memory_has_time(const struct registration_index *known, const struct known_call *call);

/* -------------------- buffer_shares.c -------------------- */

/* How many of the bytes of calls were in registered memory, by group. */

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

/* Whether the numbers of a key are those of texts in `texts`. */
int share_key_is_text(enum share_key key);

struct share_group {
    int64_t key[SHARE_KEYS]; /* in the order of `by`: the number itself, for a rank its index in the roster,
                                for a text its number; -1: not known */
    int64_t calls;           /* operations of single ranks */
    int64_t bytes;           /* count x type size, as passed to the API */
    int64_t judged_bytes;    /* of calls for which the state of the memory is known */
    int64_t registered_calls;
    int64_t registered_bytes; /* of calls with all buffers registered */
    int64_t usable_bytes;     /* of calls for which a log would show that the registration was used */
    int64_t used_bytes;       /* of calls for which a log shows that it was used */
    int64_t failed_calls;     /* NCCL tried to use the registration and failed */
    int64_t state_calls[MEMORY_STATES];
    int64_t state_bytes[MEMORY_STATES];
    double lost_ns;   /* extra time of operations on unregistered memory, compared with operations of the same
                         size on registered memory (buffer_shares.c) */
    int64_t compared; /* number of operations that lost_ns is based on; 0: none can be compared */
};

struct shares {
    enum share_key by[SHARE_KEYS];
    size_t by_count;
    const struct filter *filter; /* borrowed: which calls are counted */
    struct share_group *groups;  /* owned */
    size_t count;
    size_t capacity;
    struct intern texts;
    struct intern group_names;
    int64_t source_calls[3];             /* by enum memory_source, over all groups */
    int64_t snapshot_calls_without_time; /* judged by a snapshot, without a time of the call: the lifetime of
                               segments is ignored */
};

void shares_init(struct shares *shares);
void shares_release(struct shares *shares);

/* Sums up the calls of a run; `run_id` 0: of all runs. Returns -1 on error. */
int shares_read(struct shares *shares, struct registration_index *known, struct store *store, int64_t run_id,
                struct error *error);

/*
 * Sorts the groups by unregistered bytes, largest first; equal ones by their keys, texts alphabetically. Call
 * it once, after everything is read. Returns -1 when memory is out.
 */
int shares_sort(struct shares *shares);

/* -------------------- registered_memory.c -------------------- */

/*
 * Number of bytes of its buffers that a call reads and writes on a rank, from NCCL's API (src/nccl.h.in).
 * `bytes` is count x type size as passed to the API, `ranks` the size of the communicator (0: not known; then
 * at most `bytes` are assumed).
 */
struct needs {
    uint64_t send_bytes; /* 0: it reads nothing */
    uint64_t receive_bytes;
};

struct needs call_buffer_sizes(enum function function, int64_t bytes, int64_t ranks, int is_root);

/* -------------------- buffer_shares.c -------------------- */

/*
 * The fields of an operation that known_memory_judge needs, from a block in which stored_call_columns are
 * unpacked.
 */

enum { STORED_CALL_COLUMNS = 9 };
extern const int stored_call_columns[STORED_CALL_COLUMNS];

struct known_call stored_call(const struct block_scan *scan, const struct roster_member *member, size_t row);

/*
 * Fills in lost_ns and compared of each group. Call it after shares_read; it reads the calls a second time.
 * Returns -1 on error.
 */
int shares_cost(struct shares *shares, struct registration_index *known, struct store *store, int64_t run_id,
                struct error *error);

/* -------------------- memory_snapshots.c -------------------- */

/*
 * Reads allocator snapshots. They name no process: a snapshot belongs to the rank whose number is in its file
 * name, in the run with files in the same directories. Fills in what is known about the ranks, and their
 * clocks. Returns -1 on error.
 */
int snapshots_load(struct registration_index *known, struct store *store, int64_t run_id,
                   struct error *error);

#endif

#ifndef NCCLPROF_BUFFERS_KNOWN_MEMORY_H
#define NCCLPROF_BUFFERS_KNOWN_MEMORY_H

#include "base/error.h"
#include "base/map.h"
#include "buffers/ranges.h"
#include "store/roster.h"

struct store;

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

struct known_memory {
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
int known_memory_load(struct known_memory *known, struct store *store, const struct roster *roster,
                      int64_t run_id, enum hook_state hook, struct error *error);
void known_memory_release(struct known_memory *known);

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
struct registration_check known_memory_judge(struct known_memory *known, const struct known_call *call);

/* Before the calls are gone through once more. */
void known_memory_restart(struct known_memory *known);

/* Whether it is known when a call was made, on the wall clock. */
int known_memory_has_time(const struct known_memory *known, const struct known_call *call);

/* "not registered": a phrase for people. */
const char *memory_state_text(enum memory_state state);

#endif

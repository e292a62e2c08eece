#ifndef NCCLPROF_POSTMORTEM_CALL_STATES_H
#define NCCLPROF_POSTMORTEM_CALL_STATES_H

#include "base/map.h"
#include "job/job.h"

/*
 * How far each rank came with a call, where the recorder tells that itself (Flight Recorder's dumps): from
 * what the rank recorded, from the numbers around it where the record is no longer there, and from how far it
 * says that it came.
 */
enum call_state {
    CALL_UNKNOWN = 0, /* it left no record, or one that is cut before */
    CALL_NEVER,       /* its host did not make it */
    CALL_OPEN,        /* made, and not ended */
    CALL_DONE
};

struct call_at {
    enum call_state state;
    int32_t operation;     /* where it is recorded; -1 */
    int is_sure;           /* else CALL_NEVER may be CALL_DONE: records of the like are lost */
    int64_t never_from_ns; /* CALL_NEVER holds for who called from then on, CALL_UNKNOWN before; 0: for all */
};

/* What a rank recorded on a communicator. */
struct call_reach {
    int32_t rank;
    int32_t communicator;
    int64_t greatest;      /* number of its collectives, as recorded or as it says; -1: none */
    int64_t recorded;      /* the greatest that is recorded; -1: none */
    int64_t greatest_done; /* of those that have ended; -1: none */
    int64_t first_pair;    /* number of its sends and receives; -1: none */
    int64_t last_pair;
    int64_t pairs_counted; /* different numbers of those */
    int has_progress;      /* how far it says that it came is known */
};

struct call_states {
    const struct job *job;
    int32_t *oldest;          /* owned: of each rank, its first call that is open; -1 */
    unsigned char *is_done;   /* owned: of each rank, whether any of its calls has ended */
    unsigned char *is_stale;  /* owned: of each rank, whether its record was written before others' ended */
    unsigned char *has_told;  /* owned: of each rank, whether it says how far it came */
    unsigned char *has_open;  /* owned: of each rank, whether it says that it enqueued more than completed */
    unsigned char *has_pairs; /* owned: of each communicator */
    struct map wanted;        /* (communicator, number) of collectives that are somebody's oldest */
    struct map calls;         /* (rank, communicator, number) -> operation, of wanted ones */
    struct map reach_of;      /* (rank, communicator) -> index below */
    struct call_reach *reach; /* owned */
    size_t reach_count;
    size_t reach_capacity;
    struct map
        pairs; /* (rank, communicator and function, peer, n) -> the nth open one; n -1: how many ended */
};

/* -1 when memory is out; to be released all the same. */
int call_states_init(struct call_states *states, const struct job *job);
void call_states_release(struct call_states *states);

/* Of a collective that is somebody's oldest open call: how far `rank` came with it. */
struct call_at call_of(const struct call_states *states, int32_t rank, int32_t operation);

/* Of an open send or receive: how far its other end came with its own; *peer is that rank, -1 unknown. */
struct call_at call_of_peer(const struct call_states *states, int32_t operation, int32_t *peer);

/* Whether the next operation of a rank was launched at once with this one. */
int call_is_launched_with(const struct job *job, int32_t operation, int32_t next);

/* What a rank recorded on a communicator; NULL: nothing. */
const struct call_reach *call_reach_of(const struct call_states *states, int32_t rank, int32_t communicator);

/* Whether the end of a rank's record may be missing: it was cut, or most are. */
int call_is_cut(const struct job *job, int32_t rank);

/* Whether a rank left a record at all. */
int call_is_recorded(const struct job *job, int32_t rank);

#endif

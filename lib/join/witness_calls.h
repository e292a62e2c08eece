#ifndef NCCLPROF_JOIN_WITNESS_CALLS_H
#define NCCLPROF_JOIN_WITNESS_CALLS_H

#include "join/log_blocks.h"
#include "join/work.h"

/* Calls of one member as one recorder tells of them, to be laid beside another recorder's. */

struct told_call {
    int64_t place;   /* among those of its series: it rises */
    int64_t number;  /* as its record has it; COUNT_UNKNOWN */
    int64_t time_ns; /* when it was called, on the wall clock; TIME_UNKNOWN */
    int64_t bytes;   /* COUNT_UNKNOWN */
    int64_t block_id;
    int64_t ordinal; /* of the row, in the order of its file */
    int32_t series;  /* calls of one function, and of sends and receives with one peer */
    int32_t source;  /* file:line, interned; -1 */
    uint16_t row;    /* of the block */
    uint8_t function;
    uint8_t datatype;
    uint8_t is_unfinished;
};

struct told_calls {
    struct told_call *items; /* owned; by series, and within one by place */
    size_t count;
    size_t capacity;
};

/* Moments that a process read on its own clock and on the wall clock at once. */
struct wall_clock {
    int64_t *local_ns; /* owned; ascending */
    int64_t *wall_ns;  /* owned */
    size_t count;
};

int wall_clock_load(struct wall_clock *clock, struct store *store, int64_t process_id, struct error *error);
void wall_clock_release(struct wall_clock *clock);

/*
 * A time of the process on the wall clock: by the nearest moment that it read on both; without any, times are
 * either counted since the epoch, or nothing tells: TIME_UNKNOWN.
 */
int64_t wall_clock_at(const struct wall_clock *clock, int64_t local_ns);

/*
 * Reads a member's calls. `by_number`: its recorder numbers the calls of each function by one, so that
 * numbers that are left out are calls that it lost; else calls count as they come. Sources go to work->texts.
 */
int told_calls_load(struct told_calls *calls, struct work *work, struct logs *logs, int64_t member_id,
                    const struct wall_clock *clock, int by_number, struct error *error);
void told_calls_release(struct told_calls *calls);

/* Where the calls of the series that begins at `first` end. */
size_t told_calls_end(const struct told_calls *calls, size_t first);

#endif

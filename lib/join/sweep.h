#ifndef NCCLPROF_JOIN_SWEEP_H
#define NCCLPROF_JOIN_SWEEP_H

#include "join/blocks.h"
#include "join/work.h"

/*
 * Operations of some members, in the order in which they were issued, whatever the order of the files: of one
 * moment, by the hashes of their communicators; and of one communicator, sends and receives by the numbers
 * that they have of their own, as far as three blocks go, and among blocks after what has none. What has no
 * time goes by id. A block is in memory from its first operation's turn (two more from the one before them,
 * where they begin in one moment) to its last one's: memory grows with how much blocks overlap in time, not
 * with how many there are.
 *
 *     struct sweep sweep;
 *     struct swept swept;
 *     if (sweep_begin(&sweep, blocks, work, members, count, error) == 0)
 *         while ((more = sweep_next(&sweep, &swept, error)) == 1) ...
 *     sweep_end(&sweep);
 */

/* An operation as the join needs it. */
struct swept {
    int64_t sequence; /* of collectives, and where members' records are windows of pairs; COUNT_UNKNOWN */
    int64_t told_sequence;   /* as the program counts a communicator's collectives; COUNT_UNKNOWN */
    int64_t told_step;       /* likewise */
    int64_t bytes;           /* COUNT_UNKNOWN */
    int64_t issued_ns;       /* 0 unknown */
    int64_t duration_ns;     /* COUNT_UNKNOWN */
    int64_t initial_sync_ns; /* of a collective's symmetric kernel; 0 unknown */
    int32_t member;
    size_t source; /* which of the members given to sweep_begin that is */
    int32_t peer;  /* COUNT_UNKNOWN */
    int32_t tag;   /* that the record carries; -1 */
    int tag_is_number;
    int kind;
    int function;
    struct joined_row *joined; /* to be read and written until the next call */
};

struct sweep_source;
struct sweep_entry;

struct sweep {
    struct blocks *blocks;
    int joined; /* read also what was said of the operations; set before the first sweep_next */
    int writes; /* put what is said of them into the store; likewise */
    struct sweep_source *sources; /* owned, a member each */
    size_t source_count;
    struct sweep_entry *heap; /* owned: blocks, open or still to be opened, by what comes next of them */
    size_t heap_count;
    size_t heap_capacity;
    struct operation_rows *spare; /* one that is not in use */
    int is_given;                 /* the first of the heap has given its next operation away */
};

/* `members` are numbers in `work`. Release it whatever comes back. */
int sweep_begin(struct sweep *sweep, struct blocks *blocks, const struct work *work, const int32_t *members,
                size_t count, struct error *error);
void sweep_end(struct sweep *sweep);

/* 1 with the next operation, 0 after the last, -1. */
int sweep_next(struct sweep *sweep, struct swept *swept, struct error *error);

#endif

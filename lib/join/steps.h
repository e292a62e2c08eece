#ifndef NCCLPROF_JOIN_STEPS_H
#define NCCLPROF_JOIN_STEPS_H

#include "join/shared_communicators.h"
#include "join/sweep.h"
#include "join/work.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Training steps: from the recurring cycle of tags, rank by rank; without tags from the period of the
 * operation sequence of one rank, carried to the others by the operations of the communicator that all ranks
 * share. What comes before the first cycle belongs to step 0.
 */

/* Tags of one rank, as they come: each at its time, or, where only operations tell them, at one's number. */
struct moments {
    uint64_t *symbols; /* owned, as is at */
    int64_t *at;
    size_t count;
    size_t capacity;
    size_t at_capacity;
    int of_operations;
    uint64_t begin; /* what most ranks begin with, where only operations tell the tags; 0: not known */
};

void moments_release(struct moments *moments);
int moments_add(struct moments *moments, uint64_t symbol, int64_t at); /* -1: out of memory */

/* The tags of a rank as they were set, out of its process's marks. -1 when memory is out. */
int moments_of_marks(struct moments *moments, const struct work *work, int32_t rank);

/*
 * A last operation of a step: what other ranks recognise a step's end by. Who lost it still has an operation
 * beyond: of any function one with a greater number than the last of that function up to the end, or one on a
 * communicator whose turn comes later.
 */
struct step_end {
    int64_t reached[FUNCTION_COUNT]; /* on the shared communicator, by function; -1: none yet */
    int64_t sequence;
    int32_t turn; /* of the shared communicator */
    uint8_t function;
};

/* Of what comes before the first operation of that turn. */
struct step_end step_end_none(int32_t turn);

/* One operation on. Whether it counts: not where it has no number. */
int step_end_take(struct step_end *end, uint8_t function, int64_t sequence);

/* How the steps of a rank are told, one operation after the other. One of the three lists, or none. */
struct step_teller {
    int64_t *times; /* steps begin then */
    size_t time_count;
    const struct step_end *ends; /* steps end with these, on the communicators `shared` */
    size_t end_count;
    const struct shared_communicators *shared;
    size_t *starts; /* steps begin with the operations of these numbers */
    size_t start_count;
    size_t next; /* of the list */
    size_t at;   /* operations so far */
};

/* The step of a rank's next operation, in order of issue; -1 when there is nothing to tell it by. */
int32_t step_next(struct step_teller *teller, const struct work *work, const struct swept *swept);

/*
 * Where steps begin, from a rank's tags: times, or numbers of operations. `teller` has none when they do not
 * recur. The caller frees what its `times` and `starts` point at. -1: out of memory.
 */
int steps_from_tags(const struct moments *moments, struct step_teller *teller);

#endif

#ifndef NCCLPROF_PERIOD_RECURRENCE_H
#define NCCLPROF_PERIOD_RECURRENCE_H

#include <stddef.h>
#include <stdint.h>

/* Operations of one rank, in order of issue, by what may recur of them. Owned by the caller. */
struct recurrence {
    uint64_t *functions;      /* communicator and function */
    uint64_t *calls;          /* the same and the peer */
    uint64_t *sizes;          /* the same, and the size */
    uint64_t *kinds;          /* communicator, function and size */
    int32_t *communicators;   /* of collectives; -1: a send or receive */
    unsigned char *is_small;  /* a few numbers: a loss, norms, a barrier */
    unsigned char *is_shared; /* a collective of all ranks */
    int64_t *issued_ns;
    size_t count;
};

enum { RECURRENCE_SMALL_BYTES = 1024 };

/*
 * Where the steps of a training loop begin: indexes of operations, ascending, in `starts` (room for all);
 * *found 0 where nothing recurs. Sought in turn, until something does: the operations as they are; those that
 * come as often as steps do, and not what a checkpoint adds now and then; those that are not small; and the
 * last two again without sizes, which differ where batches do. A loss that is summed up every tenth step
 * makes ten steps one cycle: where a small collective that each step has tells twice as many
 * (by_small_collective.h), or else everything but small operations recurs oftener, that is the step; where
 * other things come between steps, anchors tell (by_rarest_call.h), and after them marks again. What comes
 * before the first that is like others is a step, too, where it makes more than half of their calls. Cycles
 * that are parts of a step (buckets, layers) go together by the time between them. Returns -1 when memory is
 * out.
 */
int recurrence_find(const struct recurrence *recurrence, size_t *starts, size_t *found);

#endif

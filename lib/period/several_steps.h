#ifndef NCCLPROF_PERIOD_SEVERAL_STEPS_H
#define NCCLPROF_PERIOD_SEVERAL_STEPS_H

#include <stddef.h>
#include <stdint.h>

/*
 * A cycle may hold several steps and an evaluation after them: the same part three times and more, and a rest
 * that calls nothing but what the part calls, and is less than a fifth of all. After micro-batches comes what
 * they have not, the sums of gradients or the optimizer.
 */
struct cycles {
    const uint64_t *symbols; /* what repeats */
    const uint64_t *calls;   /* what the rest is told by */
    size_t end;              /* of the last one */
    size_t fewest_calls;     /* that a step has: layers and buckets have fewer */
};

/*
 * Puts the steps in place of the cycles that begin at `starts` (room for all up to the end), all of one
 * length, where they hold several. -1: out of memory.
 */
int several_steps_find(const struct cycles *cycles, size_t *starts, size_t *count);

#endif

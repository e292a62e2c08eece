#ifndef NCCLPROF_PERIOD_BY_RAREST_CALL_H
#define NCCLPROF_PERIOD_BY_RAREST_CALL_H

#include "period/recurrence.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Where steps begin when other things come between them now and then (an evaluation, a checkpoint), so that
 * nothing recurs as it is. Of the calls that are not small, the one that comes least often is the anchor: no
 * step is without it. The shortest of what often lies between two of them is what all steps have: where
 * nearly all do, beginning and ending with it, what is left over lies between steps. A layer, a bucket or a
 * micro-batch does so, too, where nothing large comes once in a step; but it has no small operation of its
 * own (a norm, a loss).
 *
 * Operations are told by `way` (calls or sizes of the recurrence) and by whether they are small. The
 * first step begins before the first anchor with what begins the others. Where *found is not 0, what recurs
 * has to be more than a micro-batch (on several communicators, or on that of its small ones) and no bucket
 * (the anchors are of one size). Returns 1 where there are steps, `fewest` of them or more, 0 and leaves
 * *found where there are none, -1 when memory is out.
 */
int anchor_find(const struct recurrence *recurrence, const uint64_t *way, size_t fewest, size_t *starts,
                size_t *found);

#endif

#ifndef NCCLPROF_PERIOD_BY_SMALL_COLLECTIVE_H
#define NCCLPROF_PERIOD_BY_SMALL_COLLECTIVE_H

#include "period/recurrence.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Where steps begin by a small collective of all ranks that each of them has: a norm, a flag of overflow, a
 * loss. Between one and the next lies mostly the same (the body); what else lies there now and then, an
 * evaluation, belongs to the step before it. Of the small ones that may be it, alone or by what large call
 * they come after, the one taken is that of most steps, as the sum of a loss every tenth step recurs, too.
 *
 * A part of a step may have one of its own. No layer is taken for a step, as forward and backward are not the
 * same; nor a micro-batch, where gradients come once in a step, or where its collectives are all on one
 * communicator, not that of the small one, and nothing is sent more than once. Other micro-batches that end
 * with a small collective of all ranks each are.
 *
 * Bodies are told by `way` (sizes or calls of the recurrence). Returns 1 where there are steps, `fewest` of
 * them or more, 0 and leaves *found where there are none, -1 when memory is out.
 */
int marks_find(const struct recurrence *recurrence, const uint64_t *way, size_t fewest, size_t *starts,
               size_t *found);

#endif

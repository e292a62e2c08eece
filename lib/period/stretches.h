#ifndef NCCLPROF_PERIOD_STRETCHES_H
#define NCCLPROF_PERIOD_STRETCHES_H

#include "period/recurrence.h"

#include <stddef.h>

/*
 * Where the steps of a job begin that changes what its steps are: as the batch ramps up, sequences become
 * longer, an evaluation comes in between. A regular stretch is a run of steps of one programme; each is found
 * as recurrence.h tells, in what the others leave over: before them, or between two of their steps. Where
 * nothing recurs in all, stretches are taken off at the end, one after the other, as long as those make the
 * most of all.
 *
 * Indexes of operations, ascending, in `starts` (room for all); *found 0 where nothing recurs. Returns -1
 * when memory is out.
 */
int stretches_find(const struct recurrence *recurrence, size_t *starts, size_t *found);

/* The same of symbols that tell themselves what they are, as tags do: three cycles make a stretch of them. */
int stretches_of_symbols(uint64_t *symbols, size_t count, size_t *starts, size_t *found);

#endif

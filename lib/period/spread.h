#ifndef NCCLPROF_PERIOD_SPREAD_H
#define NCCLPROF_PERIOD_SPREAD_H

#include "period/recurrence.h"

#include <stddef.h>
#include <stdint.h>

enum { SPREAD_NONE = -1, SPREAD_SEVERAL = -2 };

/*
 * The one communicator that the collectives are on which are not small, of those from `first` to before `end`
 * in `places` (NULL: of all operations); SPREAD_SEVERAL, SPREAD_NONE. A micro-batch has one, and what ends
 * the step is summed up on another.
 */
int32_t spread_of(const struct recurrence *recurrence, const size_t *places, size_t first, size_t end);

#endif

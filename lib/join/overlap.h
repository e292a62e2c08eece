#ifndef NCCLPROF_JOIN_OVERLAP_H
#define NCCLPROF_JOIN_OVERLAP_H

#include "join/blocks.h"
#include "join/work.h"

/*
 * Which collective of each member of a communicator is the first that all have, by when they ended: ranks end
 * one at the same time, as far as their clocks agree, and the order of functions and sizes has to fit. Where
 * another order would fit nearly as well, nothing is told.
 *
 * `places` gets the number among its rank's collectives there, by job rank. 1, 0 where it is not clear, -1.
 */
int overlap_find(const struct work *work, int32_t communicator, struct blocks *blocks, int64_t *places,
                 struct error *error);

#endif

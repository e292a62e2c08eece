#ifndef NCCLPROF_JOIN_INSTANCES_H
#define NCCLPROF_JOIN_INSTANCES_H

#include "join/occurrences.h"
#include "join/work.h"

struct statement;

/*
 * Collective instance = (communicator, function, sequence number); point-to-point instance = (communicator,
 * sender, receiver, ordinal). Makes the instances of one communicator out of its operations, which have their
 * numbers (numbering.h) already, and puts both into the store. Its members pass side by side, whoever is
 * furthest behind in the sequence of collectives next, so that what is unfinished stays little. `series` are
 * those of each rank.
 */
int instances_join(const struct work *work, int32_t communicator, struct blocks *blocks,
                   const struct series_table *series, struct error *error);

#endif

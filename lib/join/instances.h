#ifndef NCCLPROF_JOIN_INSTANCES_H
#define NCCLPROF_JOIN_INSTANCES_H

#include "join/occurrences.h"
#include "join/work.h"

/* Pairs whose send and receive differ in size: how many, and the first by ordinal, sender and receiver. */
struct unequal_pairs {
    int64_t count;
    int64_t sequence;
    int64_t sender; /* ranks in the communicator */
    int64_t receiver;
    int64_t sent_bytes;
    int64_t received_bytes;
};

/*
 * Collective instance = (communicator, function, sequence number); point-to-point instance = (communicator,
 * sender, receiver, ordinal). Makes the instances of one communicator out of its operations, which have their
 * numbers (numbering.h) already, and puts both into the store. Its members pass side by side, whoever is
 * furthest behind in the sequence of collectives next, so that what is unfinished stays little. `series` are
 * those of each rank.
 */
int instances_join(const struct work *work, int32_t communicator, struct blocks *blocks,
                   const struct series_table *series, struct unequal_pairs *unequal, struct error *error);

#endif

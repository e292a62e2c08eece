#ifndef NCCLPROF_VERDICT_GROWN_OPERATION_H
#define NCCLPROF_VERDICT_GROWN_OPERATION_H

#include "verdict/longer_steps.h"

/*
 * What of a step grew where steps became longer: the place of the step's sequence whose operation took longer
 * to transfer, or before which more time passed, than in the steps that were as usual.
 */
struct grown_operation {
    int32_t operation; /* one of those; -1: none grew */
    int32_t position;
    int64_t grown_ns; /* middle one of the steps against that of the usual ones; of the rank that grew most */
    int transfers;    /* it is the transfer that grew; else what passed before it */
    int32_t ranks;    /* on which it grew by half of that */
    int32_t of_ranks; /* that play the role */
    int32_t rank;     /* that grew most */
    int32_t last_rank; /* who came last there most often; -1: it cannot be told */
    int32_t times_last;
    int32_t times; /* of so many */
};

/* -1 when memory is out. */
int grown_operation_find(struct grown_operation *grown, const struct job *job,
                         const struct baseline *baseline, const struct longer_steps *longer,
                         const struct longer_row *row);

#endif

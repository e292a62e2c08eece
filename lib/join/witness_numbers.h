#ifndef NCCLPROF_JOIN_WITNESS_NUMBERS_H
#define NCCLPROF_JOIN_WITNESS_NUMBERS_H

#include "join/witness_ranks.h"

/*
 * One rank as two recorders tell of it, where no clock tells what belongs together: by what was called, from
 * the first call to the last. Two jobs may well do the same: this is asked of files of one folder only.
 */

struct numbers_match {
    size_t calls; /* that fit */
    int fits;
    struct witness_seats seats; /* owned; to be released by who asks */
};

/*
 * Flight Recorder (`one`), which numbers the collectives of a communicator from 1 on, and a log of all calls:
 * number by number the same functions and sizes, and the last one the same.
 */
int numbers_match_log(struct hearing *hearing, const struct witness_side *one,
                      const struct witness_side *other, struct numbers_match *match, struct error *error);

/*
 * Calls of `one`, and what a framework's log says of the process `other`: how many collectives it called on
 * each of its groups. Where that says nothing, nothing is against it.
 */
int numbers_match_status(struct hearing *hearing, const struct witness_side *one, int32_t other,
                         struct numbers_match *match, struct error *error);

#endif

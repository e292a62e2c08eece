#ifndef NCCLPROF_POSTMORTEM_HABIT_H
#define NCCLPROF_POSTMORTEM_HABIT_H

#include "job/job.h"

/*
 * What a rank is used to call, for telling which of two sides that disagree about an operation is the odd
 * one: what followed the operation before it on the same communicator whenever that came at the same position
 * of its step; where positions are not known, whenever that was the same function with as many bytes.
 */
enum habit {
    HABIT_UNKNOWN = 0, /* it never came before, or as often with one outcome as with others */
    HABIT_KEPT,        /* mostly the same function with as many bytes */
    HABIT_BROKEN
};

/* Looks back a bounded way, at operations of that rank alone. `positions` are the baseline's. */
enum habit habit_at(const struct job *job, const int32_t *positions, int32_t operation);

#endif

#ifndef NCCLPROF_JOIN_SHARED_COMMUNICATORS_H
#define NCCLPROF_JOIN_SHARED_COMMUNICATORS_H

#include "join/work.h"
#include "model/succession.h"

/* So many are made anew of each other, one after the other, at most. */
enum { MOST_SHARED = 64 };

/*
 * Communicators that all ranks share, or all that are left, none used before the one before it was last used:
 * one, and those that took its place when communicators were made anew.
 */
struct shared_communicators {
    int32_t items[MOST_SHARED];
    size_t count;
};

/* Which of them that is; -1: none. */
int32_t shared_turn(const struct shared_communicators *shared, int32_t communicator);

/*
 * `first` and those that come before and after it in what a rank did: by more than half of as many ranks, as
 * what divides a world has half of it at most. `lives` are those of the rank's members. -1: out of memory.
 */
int shared_list(struct shared_communicators *shared, const struct work *work, int32_t rank,
                const struct communicator_life *lives, int32_t first);

/* The widest of those that a rank used; of several the one of the lesser hash; -1: there is none. */
int32_t shared_widest(const struct work *work, int32_t rank, const struct communicator_life *lives);

/* Whether each rank of a run that recorded anything is in one of them. -1: out of memory. */
int shared_hold_run(const struct shared_communicators *shared, const struct work *work, int32_t run,
                    int *hold);

#endif

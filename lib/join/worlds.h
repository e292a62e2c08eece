#ifndef NCCLPROF_JOIN_WORLDS_H
#define NCCLPROF_JOIN_WORLDS_H

#include "join/work.h"

/* How large each communicator is, at least: declared, else from the ranks and peers seen. */
void work_size_communicators(struct work *work);

/*
 * Counts the ranks of each run and finds the communicator that gives their global numbers, where there is one
 * and it is not settled yet.
 */
int work_choose_worlds(struct work *work, struct error *error);

/* Global ranks of all that are in the world of their run. */
void work_take_global_ranks(struct work *work);

/* Makes worlds larger where places left in other communicators tell of ranks that recorded nothing. */
int work_make_room(struct work *work, struct error *error);

/* Fills the places that nobody took, with ranks that recorded nothing. Wants the ranks grouped by run. */
int work_fill_worlds(struct work *work, struct error *error);

#endif

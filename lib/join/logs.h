#ifndef NCCLPROF_JOIN_LOGS_H
#define NCCLPROF_JOIN_LOGS_H

#include "base/error.h"

struct store;

/*
 * Inspector logs in parts: rotated, copied and cut short, with the clock put back in between. What their
 * records are numbered by (coll_sn of a communicator and function, p2p_sn of a rank's sends and receives in a
 * communicator) tells their order and which of them are the same.
 *
 * logs_mend, before anything is joined, for processes of which files came or went:
 *   - a process that is found in several directories becomes one (log_unite.c);
 *   - its files are numbered in the order of their records (log_order.c), so that ids tell what came
 *     first;
 *   - of records that tell of the same operation, the first stays (log_doubles.c);
 *   - times after a step of its clock are counted on as if there had been none (log_clock.c).
 * What the blocks of operations were before stays in table operation_recorded, and goes back there first.
 */
int logs_mend(struct store *store, struct error *error);

#endif

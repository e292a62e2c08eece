#ifndef NCCLPROF_JOIN_CALLS_H
#define NCCLPROF_JOIN_CALLS_H

#include "join/work.h"

/*
 * Joins descriptions of calls (model/call.h) to operations: by rank, group, function, size, peer and order,
 * each to one operation of its rank at most, whose each description comes from another file. Where it was
 * said when, that is heeded. What could be one of several operations is left without one: tables call_join
 * and call_place. Everything else of the join is in the store. -1 on error.
 */
int calls_join(const struct work *work, struct store *store, struct error *error);

#endif

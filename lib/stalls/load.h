#ifndef NCCLPROF_STALLS_LOAD_H
#define NCCLPROF_STALLS_LOAD_H

#include "base/error.h"
#include "stalls/stalls.h"

struct store;

/* Every network step of the runs whose names are loaded (seats.h). */
int stalls_load_steps(struct stalls *stalls, struct store *store, struct error *error);

#endif

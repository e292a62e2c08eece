#ifndef NCCLPROF_STALLS_SEATS_H
#define NCCLPROF_STALLS_SEATS_H

#include "base/error.h"
#include "stalls/stalls.h"

struct store;

/* Runs, ranks and communicators; first of all. `run_id` 0: of all runs. */
int stalls_load_names(struct stalls *stalls, struct store *store, int64_t run_id, struct error *error);

/* The seat of a rank of a communicator, made up where nobody says who it is; -1 when memory is out. */
int32_t stalls_seat(struct stalls *stalls, int32_t communicator, int64_t rank);

#endif

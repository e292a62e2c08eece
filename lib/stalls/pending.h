#ifndef NCCLPROF_STALLS_PENDING_H
#define NCCLPROF_STALLS_PENDING_H

#include "base/error.h"
#include "stalls/stalls.h"

struct proxy_operation;
struct store;
struct table;

/* The listing of proxy operations that never ended. */
int stalls_list_states(struct stalls *stalls, struct store *store, struct table *table, struct error *error);

/* What an unfinished proxy operation was waiting for. Counters, which API v1 to v3 keep, are read as
 * ncclprof-stalls(1) says. */
const char *stalls_read_states(const struct proxy_operation *proxy);

#endif

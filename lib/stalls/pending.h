#ifndef NCCLPROF_STALLS_PENDING_H
#define NCCLPROF_STALLS_PENDING_H

#include "base/error.h"
#include "stalls/stalls.h"

struct proxy_operation;
struct store;
struct table;

/* The listing of proxy operations that never ended. */
int stalls_list_states(struct stalls *stalls, struct store *store, struct table *table, struct error *error);

/* So many texts stalls_read_states and the listing have, or less. */
enum { READINGS_MOST = 16 };

/* Unfinished proxy operations of one reading, and the first edge on which there is one. */
struct reading_count {
    const char *reading; /* static */
    int64_t count;
    int32_t sender; /* seats */
    int32_t receiver;
    int has_others; /* and on another edge */
};

struct readings_counted {
    struct reading_count items[READINGS_MOST];
    size_t count;
};

/* The same, counted. Names are loaded. */
int stalls_count_states(struct stalls *stalls, struct store *store, struct readings_counted *counted,
                        struct error *error);

/* What an unfinished proxy operation was waiting for. Counters, which API v1 to v3 keep, are read as
 * ncclprof-stalls(1) says. */
const char *stalls_read_states(const struct proxy_operation *proxy);

#endif

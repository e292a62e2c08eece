#ifndef NCCLPROF_JOB_BARE_CALLS_H
#define NCCLPROF_JOB_BARE_CALLS_H

#include "base/error.h"

#include <stdint.h>

struct store;

/*
 * Calls below which the trace has no operation, though they moved data: what they did cannot be judged. Of a
 * run, or of the whole store (0).
 */
struct bare_calls {
    int64_t captured; /* in a graph */
    int64_t others;
};
int bare_calls_count(struct bare_calls *calls, struct store *store, int64_t run_id, struct error *error);

#endif

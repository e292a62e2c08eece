#ifndef NCCLPROF_FORMAT_NCCL_TIMINGS_H
#define NCCLPROF_FORMAT_NCCL_TIMINGS_H

#include "format/text.h"
#include "model/event.h"

/* How long NCCL says that making a communicator took it: since 2.22. Whether a message is one of those,
 * whole. */

/* "Init timings - ncclCommInitRank: rank 3 nranks 8 total 1.23 (kernels 0.10, ..., bootstrap 0.50, ...)". */
struct timings {
    struct text function; /* empty: not said, before 2.23 */
    int64_t rank;
    int64_t ranks;
    int64_t total_ns;
    int64_t parts_ns[START_PARTS]; /* TIME_UNKNOWN: the version has none */
};
int timings_read(struct text message, struct timings *timings);

/*
 * "Bootstrap timings total 0.512345 (create ...)": the same as the part above, to the microsecond. It comes
 * before all else of the communicator is there, and does not name it.
 */
int timings_read_bootstrap(struct text message, int64_t *total_ns);

#endif

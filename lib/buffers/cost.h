#ifndef NCCLPROF_BUFFERS_COST_H
#define NCCLPROF_BUFFERS_COST_H

#include "buffers/shares.h"

/*
 * What it costs that memory is not registered, where both are found: an operation (of all its ranks) that
 * some rank had on other memory is compared with the median of those of its communicator, function and size
 * that had all on registered memory. Times are transfers, the shortest over the ranks: nobody waited for
 * anybody.
 */

/* So many registered operations give a median. */
enum { COST_LEAST_OPERATIONS = 5 };

/* Fills in lost_ns and compared of the groups; after shares_read, for whose calls it goes through them again.
 */
int shares_cost(struct shares *shares, struct known_memory *known, struct store *store, int64_t run_id,
                struct error *error);

#endif

#ifndef NCCLPROF_REPORT_SAMPLES_H
#define NCCLPROF_REPORT_SAMPLES_H

#include "base/error.h"
#include "report/groups.h"

struct store;

/* Groups the averages that Prometheus text holds, by the same keys as operations, as far as it tells them,
 * and by when they were written. */
int report_samples_read(struct report_groups *report, struct store *store, struct error *error);

/* How many the store has, and of how many of the scheduler's jobs. */
int report_samples_count(struct store *store, int64_t *count, int64_t *jobs, struct error *error);

#endif

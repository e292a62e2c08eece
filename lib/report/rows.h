#ifndef NCCLPROF_REPORT_ROWS_H
#define NCCLPROF_REPORT_ROWS_H

#include "base/error.h"
#include "report/groups.h"

struct store;

/* Reads all rows of a run (0: of all) and groups them; those of one instance come one after the other. */
int report_groups_read(struct report_groups *report, struct store *store, int64_t run_id,
                       struct error *error);

#endif

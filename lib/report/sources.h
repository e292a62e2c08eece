#ifndef NCCLPROF_REPORT_SOURCES_H
#define NCCLPROF_REPORT_SOURCES_H

#include "base/error.h"
#include "base/map.h"
#include "report/groups.h"

struct store;

/* From where operations were called, as descriptions of the calls say: operation -> number of its text in the
 * report. Of several descriptions the first counts. `run_id` 0: of all runs. */
int report_sources_read(struct map *sources, struct report_groups *report, struct store *store,
                        int64_t run_id, struct error *error);

#endif

#ifndef NCCLPROF_ANALYSE_UNFINISHED_H
#define NCCLPROF_ANALYSE_UNFINISHED_H

#include "job/job.h"
#include "model/table.h"

/* What a run's proxy operations that never ended were waiting for, as a warning; none where there are none.
 */
int caution_unfinished(const struct job *job, struct table *table, struct error *error);

#endif

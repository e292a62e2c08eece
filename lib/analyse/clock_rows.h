#ifndef NCCLPROF_ANALYSE_CLOCK_ROWS_H
#define NCCLPROF_ANALYSE_CLOCK_ROWS_H

#include "job/job.h"
#include "model/table.h"

/* A row for each rank that recorded something: the offset of its clock, and how sure that is. */

/* The columns. */
int clock_rows_begin(struct table *table, struct error *error);

/* The rows of a run, and a warning where its offsets contradict each other. */
int clock_rows_add(const struct job *job, struct table *table, struct error *error);

#endif

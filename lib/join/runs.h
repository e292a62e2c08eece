#ifndef NCCLPROF_JOIN_RUNS_H
#define NCCLPROF_JOIN_RUNS_H

#include "join/hands.h"
#include "join/series.h"
#include "join/work.h"

/*
 * Tag, step and number (series.h) of every operation of a run, put into the store; the run's step_count and
 * step_source. The series, a table for each rank, are needed again for its instances. `work` is what the
 * hands have copies of.
 */
int run_number(struct work *work, int32_t run, struct hands *hands, struct series_table *series,
               struct error *error);

#endif

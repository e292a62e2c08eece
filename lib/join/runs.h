#ifndef NCCLPROF_JOIN_RUNS_H
#define NCCLPROF_JOIN_RUNS_H

#include "join/series.h"
#include "join/work.h"

/*
 * Tag, step and number (series.h) of every operation of a run, put into the store; the run's step_count and
 * step_source. The series are needed again for its instances.
 */
int run_number(struct work *work, int32_t run, struct store *store, struct blocks *blocks,
               struct series_table *series, struct error *error);

#endif

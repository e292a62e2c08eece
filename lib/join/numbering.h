#ifndef NCCLPROF_JOIN_NUMBERING_H
#define NCCLPROF_JOIN_NUMBERING_H

#include "join/occurrences.h"
#include "join/work.h"
#include "join/workers.h"

/*
 * Tag, step and number (occurrences.h) of every operation of a run, put into the store; the run's step_count
 * and step_source. The series, a table for each rank, are needed again for its instances. `work` is what the
 * hands have copies of.
 */
int run_number(struct work *work, int32_t run, struct hands *hands, struct series_table *series,
               struct error *error);

#endif

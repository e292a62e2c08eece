#ifndef NCCLPROF_ANALYSE_RECORDS_H
#define NCCLPROF_ANALYSE_RECORDS_H

#include "analyse/run_choice.h"
#include "model/table.h"

/*
 * What records themselves show, of all runs that are asked about: that logs of a process number
 * different operations alike, that clocks stepped, that sends and their receives differ in size. And the
 * clocks alone.
 */
int caution_records(struct store *store, const struct runs *runs, struct table *table, struct error *error);
int caution_clock_steps(struct store *store, const struct runs *runs, struct table *table,
                        struct error *error);

/* That files lay beside the traces which repeat others of them, in whole or in part. */
int caution_copies(struct store *store, const struct runs *runs, struct table *table, struct error *error);

#endif

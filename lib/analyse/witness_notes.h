#ifndef NCCLPROF_ANALYSE_WITNESS_NOTES_H
#define NCCLPROF_ANALYSE_WITNESS_NOTES_H

#include "analyse/run_choice.h"
#include "model/table.h"

/* Which runs several recorders tell of, and which may be one job and were kept apart, with why. */
int caution_witnesses(struct store *store, const struct runs *runs, struct table *table, struct error *error);

#endif

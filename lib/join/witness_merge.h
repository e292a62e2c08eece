#ifndef NCCLPROF_JOIN_WITNESS_MERGE_H
#define NCCLPROF_JOIN_WITNESS_MERGE_H

#include "join/witness_runs.h"

/* What becomes of runs that were found to be one: the store is changed, not `work`. */

int witness_merge(struct hearing *hearing, const struct witness_runs *runs, const struct encounter *encounter,
                  struct error *error);

/* Notes that two runs may be one. */
int witness_doubt(struct hearing *hearing, const struct encounter *encounter, struct error *error);

#endif

#ifndef NCCLPROF_ANALYSE_DIAGNOSE_NOTES_H
#define NCCLPROF_ANALYSE_DIAGNOSE_NOTES_H

#include "baseline/baseline.h"
#include "model/table.h"

/* What diagnose could not tell of a run, or not surely, for what the trace lacks: warnings. */
int caution_diagnosed(const struct job *job, const struct baseline *baseline, struct table *table,
                      struct error *error);

#endif

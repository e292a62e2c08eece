#ifndef NCCLPROF_ANALYSE_DIAGNOSE_NOTES_H
#define NCCLPROF_ANALYSE_DIAGNOSE_NOTES_H

#include "analyse/summary.h"
#include "network/transfer_excess.h"
#include "verdict/finding.h"

/*
 * What is worth a word beside the findings of a run, as warnings: what diagnose could not tell, or not
 * surely, for what the trace lacks. `is_told`: there are findings that are shown.
 */
int caution_run(const struct judgement *judgement, const struct findings *findings,
                const struct transfer_excess *transfers, int is_told, struct table *table,
                struct error *error);

#endif

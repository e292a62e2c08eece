#ifndef NCCLPROF_ANALYSE_LOG_NOTES_H
#define NCCLPROF_ANALYSE_LOG_NOTES_H

#include "model/table.h"
#include "store/store.h"
#include "verdict/finding.h"

/*
 * What NCCL's log says of processes whose ranks it does not tell, as its lines about the making of
 * communicators are not there: errors that they report, and how many calls each made where one made fewer
 * than the others. And that lines of PyTorch's watchdog stand in such a log, where they are not read.
 */
int caution_rankless(struct store *store, struct table *table, struct error *error);

/*
 * That ranks of a run report failures (a peer that closed its connection, transfers that were given up, a
 * port that went) of which no finding speaks. Wants what findings_find fills in.
 */
int caution_effects(const struct job *job, const struct findings *findings, struct table *table,
                    struct error *error);

#endif

#ifndef NCCLPROF_ANALYSE_LOG_NOTES_H
#define NCCLPROF_ANALYSE_LOG_NOTES_H

#include "model/table.h"
#include "store/store.h"

/*
 * What NCCL's log says of processes whose ranks it does not tell, as its lines about the making of
 * communicators are not there: errors that they report, and how many calls each made where one made fewer
 * than the others.
 */
int caution_rankless(struct store *store, struct table *table, struct error *error);

#endif

#ifndef NCCLPROF_STORE_RECORDED_H
#define NCCLPROF_STORE_RECORDED_H

#include "base/error.h"

struct store;

/*
 * Joins unite the log of a process with its trace, and prefer the newest dump of RAS; the rows that this
 * changes are kept (schemas/store/018_recorded_again.sql). Puts them back, in the caller's transaction, so
 * that files can come and go and be joined anew. 1: there were some, and the tables are not joined any
 * longer; 0: there were none; -1.
 */
int recorded_restore(struct store *store, struct error *error);

#endif

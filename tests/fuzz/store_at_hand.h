#ifndef NCCLPROF_TESTS_STORE_AT_HAND_H
#define NCCLPROF_TESTS_STORE_AT_HAND_H

#include "base/error.h"

#include <stddef.h>

struct store;

/* A folder in memory, gone when the process ends. Its name ends with '/'. */
const char *folder_at_hand(void);

/* Reads a trace file into the store and joins it, as ingest does. -1 when it is no trace. */
int ingest_at_hand(struct store *store, const char *path, struct error *error);

/* Ends the process with `what` when something does not hold. */
void require(int holds, const char *what);

#endif

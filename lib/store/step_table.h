#ifndef NCCLPROF_STORE_STEP_TABLE_H
#define NCCLPROF_STORE_STEP_TABLE_H

#include "base/error.h"

struct store;

/* Registers the virtual table proxy_step on this connection. */
int step_table_register(struct store *store, struct error *error);

#endif

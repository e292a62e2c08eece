#ifndef NCCLPROF_STORE_PACKED_TABLE_H
#define NCCLPROF_STORE_PACKED_TABLE_H

#include "base/error.h"

struct store;

/* Registers the virtual tables operation, operation_join and instance. */
int packed_tables_register(struct store *store, struct error *error);

#endif

#ifndef NCCLPROF_JOIN_SAVE_H
#define NCCLPROF_JOIN_SAVE_H

#include "join/work.h"

/* The derived tables, but for instances and what is said of operations. */
int work_save(const struct work *work, struct store *store, struct error *error);

#endif

#ifndef NCCLPROF_JOIN_LOG_UNITE_H
#define NCCLPROF_JOIN_LOG_UNITE_H

#include "base/error.h"

struct store;

/* A process that is found in several directories becomes one. */
int logs_unite_processes(struct store *store, struct error *error);

#endif

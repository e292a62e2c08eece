#ifndef NCCLPROF_JOIN_JOIN_H
#define NCCLPROF_JOIN_JOIN_H

#include "base/error.h"

#include <stddef.h>

struct store;

/*
 * Makes the derived tables of the store (schemas/store, second part) match its files: which
 * process is which rank of which job, which operations of different ranks are one instance, which tag and
 * step an operation belongs to. One transaction; nothing to do when they are current. Definitions:
 * semantics of joining in ncclprof-store(5). So many threads work at it, 1 at least.
 */
int join_store(struct store *store, size_t threads, struct error *error);

/* Whether they match the files, and are as this ncclprof makes them; -1 on error. */
int join_is_current(struct store *store, struct error *error);

/* The same as join_store within a transaction that the caller has begun, and ends. */
int join_in_transaction(struct store *store, size_t threads, struct error *error);

#endif

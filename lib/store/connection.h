#ifndef NCCLPROF_STORE_CONNECTION_H
#define NCCLPROF_STORE_CONNECTION_H

#include "base/error.h"

/* What a connection does without statements: transactions, and what SQLite says of its last failure. */
struct store;

const char *store_path(const struct store *store);

int store_begin(struct store *store, struct error *error);
/* What is read until store_rollback is the store as it is now, whoever writes. */
int store_begin_reading(struct store *store, struct error *error);
int store_commit(struct store *store, struct error *error);
void store_rollback(struct store *store); /* harmless outside a transaction */

/* Runs one or several statements that return nothing. */
int store_execute(struct store *store, const char *sql, struct error *error);

/* Sets `error` to "FORMAT: what SQLite says of its last failure, and who holds the store". Returns -1. */
int store_error(struct store *store, struct error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif

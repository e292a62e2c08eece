#ifndef NCCLPROF_STORE_INTERNAL_H
#define NCCLPROF_STORE_INTERNAL_H

#include "store/store.h"

#include <sqlite3.h>

/* What the files of this room share. Nothing outside lib/store includes this, or sqlite3.h. */

struct store {
    sqlite3 *handle;
    char *path;
    int declares_table; /* proxy_step is being declared, which query's authorizer must let through */
};

struct statement {
    struct store *store;
    sqlite3_stmt *handle;
};

/* Sets `error` to "FORMAT: what SQLite says of its last failure, and who holds the store". Returns -1. */
int store_error(struct store *store, struct error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What the header of the file says of it. */
enum schema_state {
    SCHEMA_CURRENT, /* a store of this schema */
    SCHEMA_OLDER,   /* a store that migrate_run can bring up to date */
    SCHEMA_EMPTY    /* no table in it: migrate_run makes it a store */
};

/* Refuses another program's database and a newer schema. */
int migrate_check(struct store *store, enum schema_state *state, struct error *error);

/* Brings an older or empty store to this schema, in one transaction. */
int migrate_run(struct store *store, struct error *error);

/* Fills table vocabulary with the words of lib/model/vocab.h. */
int vocabulary_write(struct store *store, struct error *error);

/* Registers the virtual table proxy_step on this connection (step_table.c). */
int step_table_register(struct store *store, struct error *error);

/* Registers the virtual tables operation, operation_join and instance (packed_table.c). */
int packed_tables_register(struct store *store, struct error *error);

#endif

#ifndef NCCLPROF_STORE_MIGRATE_H
#define NCCLPROF_STORE_MIGRATE_H

#include "base/error.h"

struct store;

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

/*
 * The views that the connection reads: those in the file, where they are ours and there are no others. Else
 * ours in SQLite's temporary schema, which is looked into first, and none of the file's.
 */
int migrate_make_views(struct store *store, struct error *error);

#endif

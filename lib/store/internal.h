#ifndef NCCLPROF_STORE_INTERNAL_H
#define NCCLPROF_STORE_INTERNAL_H

#include "store/sqlite.h"

#include <stddef.h>
#include <stdint.h>

struct store;

/* -------------------- connection.c -------------------- */

/* Sets `error` to "FORMAT: what SQLite says of its last failure, and who holds the store". Returns -1. */
int store_error(struct store *store, struct error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* -------------------- store.c -------------------- */

/* PRAGMA application_id of a store. */
enum { STORE_APPLICATION_ID = 0x4E435046 }; /* "NCPF" */

/* -------------------- migrate.c -------------------- */

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

/* -------------------- roster.c -------------------- */

/* Those of a run that recorded nothing. */
struct silent_ranks {
    size_t count;
    int32_t last; /* one of them; -1 */
};

struct silent_ranks run_silent_ranks(const struct run_ranks *run);

/* Numbers come in ascending order; the last of several wins, and one that the size rules out has no seat. */
int communicator_set_member(struct job_communicator *communicator, int64_t number, int32_t rank);

/* The members that recorded something are seated: adds those that files list beside them, where the list does
 * not contradict the seats. -1: out of memory. */
int communicator_add_listed_members(const struct run_ranks *run, struct job_communicator *communicator);

/* All members are seated: says where the ranks are that recorded nothing. */
void job_member_silent(const struct run_ranks *run, struct silent_ranks silent,
                       struct job_communicator *communicator);

/* -------------------- packed_table.c -------------------- */

/*
 * Tables that a store keeps packed, up to BLOCK_ROWS rows in one (model/block.h). A row's id is its block's
 * number plus its ordinal, the first column of each; rows stand by id, and no block spans more than
 * BLOCK_SPAN ids, so that a row is found in the blocks of so many numbers up to its own. SQL sees them as
 * virtual tables (packed_table.c).
 */

enum { BLOCK_SPAN = 4096 };

/* Registers the virtual tables operation, operation_join and instance. */
int packed_tables_register(struct store *store, struct error *error);

/* What virtual tables let SQLite hand down: equality on an id, ranges of ids, and equality on an owner. */

/* Ways to look rows up: bits of a plan's number, one argument each, in this order. */
enum lookup_way {
    LOOKUP_BY_ID = 1,
    LOOKUP_FROM_ID = 2,
    LOOKUP_UP_TO_ID = 4,
    LOOKUP_BY_OWNER = 8,
    LOOKUP_WAYS = 4 /* how many there are */
};

/* Where a table has them: the id in column 0; the owner in column `owner`, 0: it has none. */
struct lookup_columns {
    int owner;
    int rowid_is_id;
};

/* Says in `info` which constraints are arguments of the plan, and returns it: bits of enum lookup_way. */
int lookup_choose(sqlite3_index_info *info, struct lookup_columns columns);

/* Binds the plan's arguments to parameters 1 to LOOKUP_WAYS: each way has its own. An SQLite code. */
int lookup_bind(sqlite3_stmt *source, int plan, int count, sqlite3_value **values);

/* -------------------- step_table.c -------------------- */

/* Registers the virtual table proxy_step on this connection. */
int step_table_register(struct store *store, struct error *error);

/*
 * What SQLite calls when a program loads ncclprof_views.so (lib/store/module.mk): the virtual tables that a
 * store's views stand on are there then, and function ncclprof_version().
 */
__attribute__((visibility("default"))) int sqlite3_ncclprofviews_init(sqlite3 *handle, char **reason,
                                                                      const sqlite3_api_routines *routines);

/* -------------------- foreign.c -------------------- */

enum { FOREIGN_VALUE_BYTES = 16 << 20 };

#endif

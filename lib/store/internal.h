#ifndef NCCLPROF_STORE_INTERNAL_H
#define NCCLPROF_STORE_INTERNAL_H

#include "store/records.h"
#include "store/sqlite.h"
#include "store/store.h"

#include <stddef.h>
#include <stdint.h>

struct buffer;
struct known_blocks;
struct store;

/* -------------------- connection.c -------------------- */

/*
 * Sets `error` to the formatted text, followed by SQLite's last error message and, if the store is locked,
 * the process that holds the lock. Returns -1.
 */
int store_error(struct store *store, struct error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* -------------------- store.c -------------------- */

/* PRAGMA application_id of a store. */
enum { STORE_APPLICATION_ID = 0x4E435046 }; /* "NCPF" */

/* Opens a file without checking that it is a store. NULL on error. */
struct store *store_connect(const char *path, enum store_mode mode, struct error *error);

/* -------------------- migrate.c -------------------- */

/* State of the schema in the file. */
enum schema_state {
    SCHEMA_CURRENT, /* our schema */
    SCHEMA_OLDER,   /* an older schema, which migrate_run can update */
    SCHEMA_EMPTY    /* no tables; migrate_run creates them */
};

/* Reads the state of the schema. Refuses the database of another program and a schema newer than ours. */
int migrate_check(struct store *store, enum schema_state *state, struct error *error);

/* Updates an older or empty store to our schema, in one transaction. */
int migrate_run(struct store *store, struct error *error);

/* Adds the words of lib/model/vocabulary.c that the store lacks, if an earlier program created it. */
int migrate_complete_words(struct store *store, struct error *error);

/*
 * Chooses the views that the connection reads. If the file contains exactly our views, these are used. Else
 * our views are created in SQLite's temporary schema, which takes precedence, and those of the file are never
 * read.
 */
int migrate_make_views(struct store *store, struct error *error);

/* -------------------- known_blocks.c -------------------- */

/* Equal while nothing was written to the store, by other connections or by this one. */
struct store_version {
    int64_t by_others;
    int64_t by_us;
};

/* Reads the version. In a transaction, and while a statement reads, it is the one that these read. */
int store_version_read(struct store *store, struct store_version *version, struct error *error);

/* Which steps the blocks of a run contain. NULL when out of memory. */
struct known_blocks *known_blocks_new(int64_t run_id);
void known_blocks_free(struct known_blocks *known); /* NULL is allowed */

/* Adds a block whose column JOINED_STEP is unpacked. Returns -1 when out of memory. */
int known_blocks_add(struct known_blocks *known, int64_t id, const struct block_reader *joined);

/* The store keeps the list of all blocks of the run, and owns it. */
void known_blocks_keep(struct store *store, struct known_blocks *known, struct store_version version);

/* Whether the list that the store keeps is of this run and version. */
int known_blocks_apply(const struct store *store, int64_t run_id, struct store_version version);

/* Appends the ids of blocks that may have a step that is wanted, as JSON. -1: out of memory. */
int known_blocks_list(const struct store *store, operation_wanted is_wanted, const void *context,
                      struct buffer *ids);

/* -------------------- roster.c -------------------- */

/* The ranks of a run that recorded nothing. */
struct silent_ranks {
    size_t count;
    int32_t last; /* one of them; -1: none */
};

struct silent_ranks run_silent_ranks(const struct run_ranks *run);

/*
 * Adds a member; call it in ascending order of numbers. If a number comes twice, the last rank wins. A number
 * outside the communicator's size is ignored. -1 if memory is out.
 */
int communicator_set_member(struct job_communicator *communicator, int64_t number, int32_t rank);

/*
 * Adds members that recorded nothing from the list in a file, unless the list contradicts the recorded
 * members. Call it when all recorded members were added. -1: out of memory.
 */
int communicator_add_listed_members(const struct run_ranks *run, struct job_communicator *communicator);

/*
 * Places ranks that recorded nothing if their number follows from the communicator's size. Call it when all
 * other members were added.
 */
void communicator_place_silent_ranks(const struct run_ranks *run, struct silent_ranks silent,
                                     struct job_communicator *communicator);

/* -------------------- packed_table.c -------------------- */

/*
 * Tables that the store keeps packed, up to BLOCK_ROWS rows in a block (lib/model/block.c). The id of a row
 * is the id of its block plus its ordinal, which is the first packed column. Rows are sorted by id, and a
 * block spans at most BLOCK_SPAN ids, so a row can only be in a block whose id is at most BLOCK_SPAN below
 * its own. SQL sees these tables as virtual tables (packed_table.c).
 */

enum { BLOCK_SPAN = 4096 };

/* Registers the virtual tables operation, operation_join and instance. */
int packed_tables_register(struct store *store, struct error *error);

/* Registers the table from which the views of computed rows select nothing. Other programs do not have it. */
int computed_table_register(struct store *store, struct error *error);

/*
 * Constraints that SQLite may pass to our virtual tables: equality of the id, ranges of ids, and equality of
 * the owner.
 */

/* Bits of the plan number. Each adds one argument, in this order. */
enum lookup_way {
    LOOKUP_BY_ID = 1,
    LOOKUP_FROM_ID = 2,
    LOOKUP_UP_TO_ID = 4,
    LOOKUP_BY_OWNER = 8,
    LOOKUP_WAYS = 4 /* number of bits */
};

/* The id is column 0; the owner is column `owner`, 0 if the table has none. */
struct lookup_columns {
    int owner;
    int rowid_is_id;
};

/*
 * Marks in `info` the constraints that become arguments of the plan. Returns the plan: bits of enum
 * lookup_way.
 */
int lookup_choose(sqlite3_index_info *info, struct lookup_columns columns);

/*
 * Binds the arguments of the plan to parameters 1 to LOOKUP_WAYS, one parameter for each bit. Returns an
 * SQLite code.
 */
int lookup_bind(sqlite3_stmt *source, int plan, int count, sqlite3_value **values);

/* -------------------- step_table.c -------------------- */

/* Registers the virtual table proxy_step on this connection. */
int step_table_register(struct store *store, struct error *error);

/*
 * The entry point that SQLite calls when a program loads ncclprof_views.so (lib/store/module.mk). It
 * registers the virtual tables that a store's views need, and the function ncclprof_version().
 */
__attribute__((visibility("default"))) int sqlite3_ncclprofviews_init(sqlite3 *handle, char **reason,
                                                                      const sqlite3_api_routines *routines);

/* -------------------- foreign.c -------------------- */

enum { FOREIGN_VALUE_BYTES = 16 << 20 };

#endif

#ifndef NCCLPROF_STORE_STORE_H
#define NCCLPROF_STORE_STORE_H

#include "store/records.h"

#include <stddef.h>
#include <stdint.h>

struct foreign;
struct plain_file;
struct query;
struct statement;
struct store;

/* -------------------- files.c -------------------- */

void ledger_init(struct ledger *ledger);
void ledger_release(struct ledger *ledger);

/* Counts one more; the arguments are those of a format_sink's note. */
int ledger_note(struct ledger *ledger, const char *reason, int damage, uint64_t offset, const char *detail,
                size_t detail_length, struct error *error);

/* Counts what stands in the other one, too, which is of a later part of the same file. */
int ledger_add(struct ledger *ledger, const struct ledger *part, struct error *error);

/* All counts together, and those with damage. */
int64_t ledger_total(const struct ledger *ledger);
int64_t ledger_damage(const struct ledger *ledger);

/* The entry with that reason; NULL when there is none. */
const struct ledger_entry *ledger_find(const struct ledger *ledger, const char *reason);

/* The entry of this reason where all that is in it, damage aside, has this reason; else NULL. */
const struct ledger_entry *ledger_only(const struct ledger *ledger, const char *reason);

/* The entry with damage that stands first in the file; NULL when there is none. */
const struct ledger_entry *ledger_first_damage(const struct ledger *ledger);

/* -------------------- runs.c -------------------- */

/*
 * What a store says of the shards that it is made of (schemas/store/016_shards.sql): what a part of a job's
 * files is called, and whether all of it is there.
 */

enum shard_state { SHARD_WHOLE, SHARD_LACKING, SHARD_UNFINISHED, SHARD_MISSING, SHARD_STATES };

struct shard {
    char *job; /* owned, as are the other texts; "" where no scheduler tells */
    int64_t number;
    int64_t count; /* 1: nobody counted */
    char *host;    /* ""; not known */
    int is_of_host;
    char *path; /* "" in the shard itself */
    enum shard_state state;
    char *reason; /* of the state; NULL: it says all */
};

struct shards {
    struct shard *items; /* owned */
    size_t count;
    size_t capacity;
};

int shards_read(struct shards *shards, struct store *store, struct error *error);
void shards_release(struct shards *shards);

/* The row of a store that is a shard, by itself; NULL where it is none, or was merged of others. */
const struct shard *shards_self(const struct shards *shards);

/* Writes a row in the place of what was said of the same shard. */
int shard_write(struct store *store, const struct shard *shard, struct error *error);

/* The store is this shard, which has no path, and no other. */
int shard_write_self(struct store *store, const struct shard *shard, struct error *error);

/* Whether a store is a shard, which is merged and never joined; -1 on error. */
int store_is_shard(struct store *store, struct error *error);
int store_set_shard(struct store *store, int is_shard, struct error *error);

/*
 * Of those that were counted, each number that there is no row of gets one: SHARD_MISSING. In the caller's
 * transaction.
 */
int shards_add_missing(struct store *store, struct error *error);

/* -------------------- connection.c -------------------- */

const char *store_path(const struct store *store);

int store_begin(struct store *store, struct error *error);
/* What is read until store_rollback is the store as it is now, whoever writes. */
int store_begin_reading(struct store *store, struct error *error);
int store_commit(struct store *store, struct error *error);
void store_rollback(struct store *store); /* harmless outside a transaction */

/* Runs one or several statements that return nothing. */
int store_execute(struct store *store, const char *sql, struct error *error);

/* -------------------- statement.c -------------------- */

/* A statement to bind, step and read. Freed with statement_free. NULL on error. */
struct statement *store_prepare(struct store *store, const char *sql, struct error *error);
/* The same with a run as its first parameter, or with NULL there for run 0: there is none, all are meant. */
struct statement *store_prepare_for(struct store *store, const char *sql, int64_t run_id,
                                    struct error *error);
void statement_free(struct statement *statement);

/* Parameters count from 1. Text and blobs are copied. Binding cannot fail for valid indexes but for memory.
 */
int statement_bind_integer(struct statement *statement, int parameter, int64_t value, struct error *error);
int statement_bind_text(struct statement *statement, int parameter, const char *text, struct error *error);
int statement_bind_blob(struct statement *statement, int parameter, const void *bytes, size_t length,
                        struct error *error);
int statement_bind_null(struct statement *statement, int parameter, struct error *error);

/* 1: a row is there; 0: done (the statement is reset and can be bound anew); -1: error. */
int statement_step(struct statement *statement, struct error *error);
void statement_reset(struct statement *statement);

/* Columns count from 0. Text and blobs are borrowed until the next step. */
int statement_is_null(struct statement *statement, int column);
int64_t statement_integer(struct statement *statement, int column);
int64_t statement_integer_or(struct statement *statement, int column, int64_t absent); /* `absent` for NULL */
double statement_real(struct statement *statement, int column);
const char *statement_text(struct statement *statement, int column); /* NULL for NULL */
/* What a column holds; a blob counts as text. */
enum cell_type statement_type(struct statement *statement, int column);
/* Likewise all of its bytes, of whatever type; NULL for NULL, and when memory is out. */
const char *statement_bytes(struct statement *statement, int column, size_t *length);
const void *statement_blob(struct statement *statement, int column, size_t *length);

/* -------------------- store.c -------------------- */

enum store_mode {
    STORE_CREATE, /* read and write; made when missing, with mode 0600; migrated when of an older schema */
    STORE_WRITE,  /* read and write; must exist */
    STORE_READ    /* must exist, nothing is changed: for query */
};

/*
 * Refuses, each with its reason: a file that is no SQLite database, another program's database, a store of a
 * newer schema than ours. Waits up to a few seconds for another writer, then says who holds it (the path).
 */
struct store *store_open(const char *path, enum store_mode mode, struct error *error);
void store_close(struct store *store);

/*
 * Before the first store is opened, where several threads will read and write several stores: SQLite does not
 * count its memory, for which they would wait for each other. query_open (query.c), which bounds it, wants it
 * counted.
 */
void store_expect_threads(void);

/*
 * How many threads may work on what is read from a store: 0, which is one, unless it is said otherwise. The
 * store itself is for one of them at a time.
 */
void store_set_threads(struct store *store, size_t threads);
size_t store_threads(const struct store *store);

/* The value of fact `name`; `absent` when there is none. */
int store_fact(struct store *store, const char *name, int64_t absent, int64_t *value, struct error *error);
int store_set_fact(struct store *store, const char *name, int64_t value, struct error *error);

/* Whether a file says in its first bytes that it is a store, of whatever schema; 0 also where there is none.
 */
int store_is_stamped(const char *path);

/*
 * Paths of files that lie on one node of several, as merged stores have them: "node7:/local/traces/a.json".
 * The same path on another node is another file.
 */

/* The path on its node, "/local/traces/a.json": the rest of `path`. One that names no node is returned as it
 * is. */
const char *node_path_plain(const char *path);

/* `path` of that node, owned by the caller; NULL when memory is out. What is no absolute path stays as it is:
 * it names a node already, or none, as a pipe does. */
char *node_path_of(const char *node, const char *path);

/* How many directories two paths have in common, from the root down. */
size_t node_path_common_depth(const char *one, const char *other);

/* -------------------- query.c -------------------- */

struct query_limits {
    int64_t seconds;              /* 0: none */
    int (*wanted)(void *context); /* asked now and then: true stops the query; NULL: nobody to ask */
    int allows_views;             /* those that lie in the file, too: a stranger's may never end by itself */
};

/*
 * Runs one statement of a stranger's SQL that can only read: nothing but SELECT gets through (no attaching,
 * no loading of extensions, of pragmas only those that describe tables), whatever else the connection would
 * allow. One query a connection at a time. `limits` is copied. NULL when the SQL is refused.
 *
 *     while ((more = query_next(query, &cells, error)) == 1) ...
 */
struct query *query_open(struct store *store, const char *sql, const struct query_limits *limits,
                         struct error *error);

/*
 * Likewise the first statement of *sql, which moves behind it. NULL with *is_end where none is left, else
 * with an error.
 */
struct query *query_open_first(struct store *store, const char **sql, const struct query_limits *limits,
                               int *is_end, struct error *error);
void query_close(struct query *query);

/*
 * A table with the query's columns and no rows; lives as long as the query. The caller may add units and
 * descriptions. Equal column names have got _2, _3 ... behind them.
 */
struct table *query_head(struct query *query);

/*
 * 1 with the next row (one cell a column, borrowed until the next call), 0 at the end, -1 when it failed, ran
 * out of time or was stopped. Integers are exact; blobs come as text x'...'.
 */
int query_next(struct query *query, const struct cell **cells, struct error *error);

/* Whether `wanted` stopped it. */
int query_stopped(const struct query *query);

/* -------------------- views.c -------------------- */

/*
 * What a store shows to others: the views of ncclprof-store(5), virtual table proxy_step, and the two tables
 * that views point into. Each with its columns, as an export has them.
 */
struct view {
    const char *name;
    const char *description; /* of a row */
    const struct column *columns;
    size_t column_count;
    const char *of_run;   /* which rows are of the run that is parameter 1 */
    const char *keys[4];  /* columns, with commas between, by which users look rows up; NULL past the last */
    int has_number;       /* the first column is a number of the row alone */
    int is_network_steps; /* many times as many rows as all others together */
};

enum { STORE_VIEWS = 15 };
extern const struct view store_views[STORE_VIEWS];

/*
 * The rows of a view, those of run `run_id` alone unless it is 0: their columns are the view's, in its order.
 * NULL on error.
 */
struct statement *view_rows(struct store *store, const struct view *view, int64_t run_id,
                            struct error *error);

/* -------------------- plain_file.c -------------------- */

/*
 * An SQLite file for other tools: tables alone, no functions and no virtual tables of ours. It is written in
 * one go, without a journal: whoever makes one sees to it that nobody takes it for whole before
 * plain_file_close.
 */

/* In an empty file that is open for reading and writing; the descriptor stays the caller's. NULL on error. */
struct plain_file *plain_file_open(int descriptor, struct error *error);

/*
 * A table of the view's name and columns with all rows of `rows` (view_rows), its indexes, and a row for each
 * of its columns in table `description`. *count is how many rows there were.
 */
int plain_file_add(struct plain_file *file, const struct view *view, struct statement *rows, int64_t *count,
                   struct error *error);

/* Everything is written; releases it either way. */
int plain_file_close(struct plain_file *file, struct error *error);

/* Releases it, half written as it is. NULL is allowed. */
void plain_file_discard(struct plain_file *file);

/* -------------------- files.c -------------------- */

/*
 * The files that the store held when this was read: a snapshot that any thread may look into. A file whose
 * size is not among them is new, without a digest being taken.
 */
struct known_file {
    uint64_t bytes;
    char digest[33];
    char dialect[64];
    int64_t events;
    int64_t skipped;
    int64_t lost_pieces;   /* of it could not be read */
    uint64_t first_offset; /* of these */
    int64_t reader_version;
    char *reader;       /* owned: the format whose reader read it; NULL: not known */
    char *path;         /* owned */
    char *first_reason; /* owned; NULL when there are none */
};

struct known {
    struct known_file *files; /* owned; ordered by size */
    size_t count;
    size_t capacity;
};

int known_read(struct known *known, struct store *store, struct error *error);
void known_release(struct known *known);

int known_has_size(const struct known *known, uint64_t bytes);

int known_has_path(const struct known *known, const char *path);

/* NULL when there is none of that content. */
const struct known_file *known_find(const struct known *known, uint64_t bytes, const char *digest);

/* -------------------- runs.c -------------------- */

/*
 * The run that a user means by a name or a number, as `ncclprof info --runs` shows them. -1 where there is
 * none, with an error that says which there are.
 */
int run_find(struct store *store, const char *text, int64_t *run_id, struct error *error);

/*
 * The same for a list with commas between, without doubles; *ids is freed by the caller, and NULL on error.
 * An empty name is no run.
 */
int run_find_all(struct store *store, const char *list, int64_t **ids, size_t *count, struct error *error);

/* -------------------- roster.c -------------------- */

/* Who is in a communicator. Ranks are indexes into an array of them; -1 is none. */

struct communicator_set_member {
    int64_t number; /* the rank's in the communicator */
    int32_t rank;
};

/* Its size is what a trace claims, however much: who is in it is held for the ranks that are known. */
struct job_communicator {
    int64_t id;
    int64_t size;
    int64_t hash;       /* 0: not known */
    int64_t node_count; /* 0: not known */
    char *label;        /* owned */
    int32_t run;
    int size_is_known; /* else it has so many at least */
    int64_t *members;  /* owned: their global ranks, in order of its own, as files tell; NULL */
    size_t member_count;
    struct communicator_set_member
        *member_list; /* owned: the rank of each number that recorded something, by number */
    size_t seat_count;
    size_t member_capacity;
    /* owned: the ranks that its members, as a file lists them, leave for numbers without a seat; by number */
    struct communicator_set_member *told;
    size_t told_count;
    int is_whole;       /* all ranks of the run are in it: the others at their global numbers */
    int32_t silent;     /* the rank of every other place; -1 unknown */
    int is_of_the_rest; /* most ranks are in it, and began it when they were through with those of all */
    int32_t succeeds;   /* 1 + the number of the first of those that it was made anew of; 0: of none */
};

void job_communicator_release(struct job_communicator *communicator);

/* The ranks of a run, in order of their global numbers, those without one last: a part of an array. */
struct run_ranks {
    const int64_t *global_ranks; /* of the array's first; -1: none */
    const int64_t *process_ids;  /* likewise; -1: nothing recorded by it */
    size_t bytes;                /* from one to the next */
    size_t first;
    size_t count;
    int64_t expected; /* ranks that the run has, as far as communicators tell */
};

/* The rank that has a global number; -1. */
int32_t run_rank_numbered(const struct run_ranks *run, int64_t global_rank);

/* The rank of a number in a communicator; -1. The second: only of those that recorded something. */
int32_t run_rank_in(const struct run_ranks *run, const struct job_communicator *communicator, int64_t number);
int32_t job_seated(const struct job_communicator *communicator, int64_t number);

/*
 * Who is who in a joined store, or in one run of it: runs, their ranks and communicators, and which member of
 * a communicator is which rank. Indexes are into the arrays of struct roster; -1 is none.
 */

struct roster_run {
    int64_t id;
    int64_t expected_ranks;
    int64_t step_count;
    int64_t first_step; /* that is recorded, where steps have the program's numbers; else 0 */
    int64_t step_base;  /* what the program calls step 0 */
    char *step_source;  /* owned */
    char *name;         /* owned; hostile */
    int has_global_ranks;
    size_t first_rank; /* of the roster's */
    size_t rank_count;
};

/* What files tell of the process of a rank. NULL and COUNT_UNKNOWN: nothing. */
struct roster_facts {
    char *host; /* owned, as all texts here */
    char *gpu_bus_id;
    char *gpu_serial;
    char *nic;
    char *rank_name; /* what the framework calls it */
    char *vm;        /* virtual machine */
    int64_t local_rank;
    int64_t gpu; /* CUDA's number of the device in the process */
};

void roster_facts_release(struct roster_facts *facts);

struct roster_rank {
    int64_t id;
    int64_t process_id;  /* -1: nothing recorded by it */
    int64_t global_rank; /* -1 */
    char *name;          /* owned */
    int32_t run;
    struct roster_facts facts; /* roster_load_facts */
};

struct roster_member {
    int64_t id;
    int64_t number; /* its rank in the communicator */
    int32_t rank;
    int32_t communicator;
};

struct roster {
    struct roster_run *runs; /* owned, as all below; by id */
    size_t run_count;
    size_t run_capacity;
    struct roster_rank *ranks; /* by run and global rank; of each run those without one last, by name */
    size_t rank_count;
    size_t rank_capacity;
    struct job_communicator *communicators; /* by id */
    size_t communicator_count;
    size_t communicator_capacity;
    struct roster_member *members; /* by communicator, number and id */
    size_t member_count;
    size_t member_capacity;
    struct map rank_of;   /* id -> index */
    struct map member_of; /* likewise */
};

/*
 * A run, its ranks and communicators, or with `run_id` 0 those of all runs; and then, for those who ask for
 * them, the members, which says who is in the communicators, and what is known of the ranks' processes.
 * Release it whatever comes back.
 */
int roster_load(struct roster *roster, struct store *store, int64_t run_id, struct error *error);
int roster_load_members(struct roster *roster, struct store *store, int64_t run_id, struct error *error);
int roster_load_facts(struct roster *roster, struct store *store, int64_t run_id, struct error *error);
void roster_release(struct roster *roster); /* also one that is all 0 */

/* Indexes by id. */
int32_t roster_rank(const struct roster *roster, int64_t id);
int32_t roster_communicator(const struct roster *roster, int64_t id);

/* The rank of a number in a communicator; -1. */
int32_t roster_rank_in(const struct roster *roster, int32_t communicator, int64_t number);

/* NULL: there is none of that id. */
const struct roster_member *roster_member(const struct roster *roster, int64_t id);

/*
 * The global ranks of a communicator's members, in order of its own ranks, as the store keeps them:
 * "[0,4,8]". *ranks is freed by the caller. Where the text is no such list, or names a rank twice or one
 * beyond a C int, which is what NCCL counts by, *count is 0. -1: out of memory.
 */
int members_read(const char *text, int64_t **ranks, size_t *count);

/* -------------------- packed_table.c -------------------- */

/* Bits of OPERATION_FLAGS. */
enum {
    OPERATION_IS_UNFINISHED = 1,
    OPERATION_IS_CAPTURED = 2,
    OPERATION_HAS_NUMBER = 4, /* as its tag */
    OPERATION_IS_SYMMETRIC = 8
};

extern const struct block_layout operation_layout;

/* operation_join_block: what the join says of the operations of the block with the same number, row by row.
 */
enum joined_column { JOINED_ORDINAL, JOINED_INSTANCE, JOINED_STEP, JOINED_TAG, JOINED_COLUMNS };

extern const struct block_layout joined_layout;

/* instance_block: instances of one communicator. */
enum instance_column {
    INSTANCE_ORDINAL,
    INSTANCE_KIND,
    INSTANCE_FUNCTION,
    INSTANCE_SEQUENCE,
    INSTANCE_SENDER,
    INSTANCE_RECEIVER,
    INSTANCE_SIZE_BYTES,
    INSTANCE_MEMBERS,
    INSTANCE_EXPECTED,
    INSTANCE_TRANSFER,
    INSTANCE_EFFECTIVE,
    INSTANCE_LAST_MEMBER,
    INSTANCE_MARGIN,
    INSTANCE_TAG,
    INSTANCE_STEP,
    INSTANCE_COLUMNS
};

extern const struct block_layout instance_layout;

/* block_open and block_column (model/block_read.h) of a stored block: -1 with an error that names the block.
 */
int stored_block_open(struct block_reader *reader, int64_t block_id, const void *packed, size_t length,
                      struct error *error);
int stored_block_unpack(struct block_reader *reader, int64_t block_id, const int *columns, size_t count,
                        struct error *error);
int stored_block_damaged(int64_t block_id, struct error *error); /* -1: it does not hold together */

/* -------------------- foreign.c -------------------- */

/* `stopped` is asked now and then: true ends the reading; may be NULL. NULL with an error where it is no such
 * file. */
struct foreign *foreign_open(const char *path, int (*stopped)(void *context), void *context,
                             struct error *error);
void foreign_close(struct foreign *foreign);

/* Lives as long as `foreign` does. */
const struct foreign_tables *foreign_tables(const struct foreign *foreign);

#endif

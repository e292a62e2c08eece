#ifndef NCCLPROF_STORE_STORE_H
#define NCCLPROF_STORE_STORE_H

#include "store/records.h"

#include <stddef.h>
#include <stdint.h>

struct buffer;
struct foreign;
struct plain_file;
struct query;
struct statement;
struct store;

/* -------------------- files.c -------------------- */

void ledger_init(struct ledger *ledger);
void ledger_release(struct ledger *ledger);

/* Counts one more skipped piece of input. The arguments are those of the note function of a format_sink. */
int ledger_note(struct ledger *ledger, const char *reason, int damage, uint64_t offset, const char *detail,
                size_t detail_length, struct error *error);

/* Adds the counts of `part`, the ledger of a later part of the same file. */
int ledger_add(struct ledger *ledger, const struct ledger *part, struct error *error);

/* The sum of all counts, and the sum of the counts of unreadable input. */
int64_t ledger_total(const struct ledger *ledger);
int64_t ledger_damage(const struct ledger *ledger);

/* The entry with this reason; NULL if there is none. */
const struct ledger_entry *ledger_find(const struct ledger *ledger, const char *reason);

/* The entry with this reason if no other entry exists except entries of unreadable input; else NULL. */
const struct ledger_entry *ledger_only(const struct ledger *ledger, const char *reason);

/* The entry of unreadable input that occurs first in the file; NULL if there is none. */
const struct ledger_entry *ledger_first_damage(const struct ledger *ledger);

/* -------------------- runs.c -------------------- */

/*
 * Shards (schemas/store/016_shards.sql). A shard is a store of a part of a job's files. A merged store has
 * one row for each shard: its name, and whether all of it was merged.
 */

/*
 * Complete; some of its files could not be read; its ingest or merge did not end; not found. A later value is
 * a worse state.
 */
enum shard_state { SHARD_WHOLE, SHARD_LACKING, SHARD_UNFINISHED, SHARD_MISSING, SHARD_STATES };

struct shard {
    char *job; /* owned, as are the other texts; "" if no scheduler gives a job id */
    int64_t number;
    int64_t count; /* number of shards of the job; 1 if unknown */
    char *host;    /* "" if unknown */
    int is_of_host;
    char *path; /* "" in the shard itself */
    enum shard_state state;
    char *reason; /* detail for `state`; NULL if the state needs none */
};

struct shards {
    struct shard *items; /* owned */
    size_t count;
    size_t capacity;
};

int shards_read(struct shards *shards, struct store *store, struct error *error);
void shards_release(struct shards *shards);

/*
 * The row that describes this store as a shard; NULL if the store is not a shard or was merged from others.
 */
const struct shard *shards_self(const struct shards *shards);

/* Writes the row of a shard and replaces an earlier row of the same shard. */
int shard_write(struct store *store, const struct shard *shard, struct error *error);

/* Records that the store is this shard (whose path is "") and contains no other. */
int shard_write_self(struct store *store, const struct shard *shard, struct error *error);

/* Whether the store is a shard. A shard is merged into another store and never joined. -1 on error. */
int store_is_shard(struct store *store, struct error *error);
int store_set_shard(struct store *store, int is_shard, struct error *error);

/*
 * If the number of shards is known, adds a row with SHARD_MISSING for each shard number that has no row. Runs
 * in the caller's transaction.
 */
int shards_add_missing(struct store *store, struct error *error);

/* -------------------- connection.c -------------------- */

const char *store_path(const struct store *store);

int store_begin(struct store *store, struct error *error);
/*
 * Starts a read transaction: until store_rollback all reads see the store as it is now, even if another
 * process writes to it.
 */
int store_begin_reading(struct store *store, struct error *error);
int store_commit(struct store *store, struct error *error);
void store_rollback(struct store *store); /* no effect outside a transaction */

/* Runs one or more statements that return no rows. */
int store_execute(struct store *store, const char *sql, struct error *error);

/* -------------------- statement.c -------------------- */

/* Prepares a statement; free it with statement_free. NULL on error. */
struct statement *store_prepare(struct store *store, const char *sql, struct error *error);
/* Also binds `run_id` to parameter 1. Run 0 means all runs and binds NULL. */
struct statement *store_prepare_for(struct store *store, const char *sql, int64_t run_id,
                                    struct error *error);
void statement_free(struct statement *statement);

/*
 * Parameters count from 1. Text and blobs are copied. With a valid index, binding fails only if memory is
 * out.
 */
int statement_bind_integer(struct statement *statement, int parameter, int64_t value, struct error *error);
int statement_bind_real(struct statement *statement, int parameter, double value, struct error *error);
int statement_bind_text(struct statement *statement, int parameter, const char *text, struct error *error);
int statement_bind_blob(struct statement *statement, int parameter, const void *bytes, size_t length,
                        struct error *error);
int statement_bind_null(struct statement *statement, int parameter, struct error *error);

/* 1: a row is available; 0: done (the statement was reset and can be bound again); -1: error. */
int statement_step(struct statement *statement, struct error *error);
void statement_reset(struct statement *statement);

/* Columns count from 0. Text and blobs are borrowed until the next step. */
int statement_is_null(struct statement *statement, int column);
int64_t statement_integer(struct statement *statement, int column);
int64_t statement_integer_or(struct statement *statement, int column, int64_t absent); /* `absent` for NULL */
double statement_real(struct statement *statement, int column);
const char *statement_text(struct statement *statement, int column); /* NULL for NULL */
/* Sets *text to a copy that the caller frees, "" for NULL. Returns -1 when out of memory. */
int statement_copy_text(struct statement *row, int column, char **text);
/* The type of a column's value; a blob counts as text. */
enum cell_type statement_type(struct statement *statement, int column);
/* The bytes of a value of any type; NULL for NULL and if memory is out. */
const char *statement_bytes(struct statement *statement, int column, size_t *length);
const void *statement_blob(struct statement *statement, int column, size_t *length);

/* -------------------- store.c -------------------- */

enum store_mode {
    STORE_CREATE, /* read and write; created with mode 0600 if it does not exist; an older schema is migrated
                   */
    STORE_WRITE,  /* read and write; must exist */
    STORE_READ    /* must exist; nothing is changed (for queries) */
};

/*
 * Opens a store. Refuses, each with its own message: a file that is not an SQLite database, the database of
 * another program, and a store with a schema newer than ours. Waits a few seconds for another writer; after
 * that the error names the path of the locked store.
 */
struct store *store_open(const char *path, enum store_mode mode, struct error *error);
void store_close(struct store *store);

/*
 * Call this before the first store is opened if several threads will use several stores. It turns off
 * SQLite's memory accounting, whose lock the threads would wait for. query_open (query.c) needs the
 * accounting, because it limits the memory of a query.
 */
void store_expect_threads(void);

/*
 * The number of threads that may work on data read from this store; 0, the default, means one. The store
 * itself may be used by one thread at a time.
 */
void store_set_threads(struct store *store, size_t threads);
size_t store_threads(const struct store *store);

/*
 * How the user's next command reads the same data: `program` begins its command line, and `input` ends it,
 * " --store FILE" or " PATH...". Both are quoted for a shell, and copied. Call it after the store is joined,
 * because it counts the runs.
 */
int store_set_command(struct store *store, const char *program, const char *input, struct error *error);

/*
 * Appends a command line that a user can copy: "ncclprof WORDS --run 2 --store FILE". `run_id`: 0 for all
 * runs; the run is named only if the store has several. `store`: NULL if there is none. Returns -1 when
 * memory is out.
 */
int store_append_command(const struct store *store, const char *words, int64_t run_id, struct buffer *text);

/* The value of the fact `name`; `absent` if it is not stored. */
int store_fact(struct store *store, const char *name, int64_t absent, int64_t *value, struct error *error);
int store_set_fact(struct store *store, const char *name, int64_t value, struct error *error);

/* Whether the first bytes of the file mark it as a store, of any schema. 0 if there is no such file. */
int store_is_stamped(const char *path);

/*
 * Paths in merged stores of files on a node's local disk: "node7:/local/traces/a.json". The same path on
 * another node is another file.
 */

/* The path without its node: "/local/traces/a.json". Returns `path` itself if it names no node. */
const char *node_path_plain(const char *path);

/*
 * `path` with the node in front, owned by the caller; NULL if memory is out. A path that is not absolute is
 * copied unchanged: it names a node already or, like a pipe, has none.
 */
char *node_path_of(const char *node, const char *path);

/* The number of leading directories that two paths have in common. */
size_t node_path_common_depth(const char *one, const char *other);

/* -------------------- kept.c -------------------- */

/*
 * Results that were computed from a store and are kept in it, each under its question. They are found until
 * anything is written to the store, and by the build of the program that kept them. Without them everything
 * is only slower, so that these functions have no errors: in a store that is damaged, locked or cannot be
 * written, nothing is kept and nothing is found.
 */

/* The content of a store, as long as nothing is written to it; STATE_UNKNOWN: nothing can be kept in it. */
enum { STATE_UNKNOWN = -1 };

/* Sets *state. Returns whether a result was found, which is then in `result`. */
int kept_find(struct store *store, const char *question, struct buffer *result, int64_t *state);

/*
 * Keeps a result that was computed from the content `state`, if that is still the content. Returns the state
 * of the store, which now has the result; STATE_UNKNOWN if it was not kept. The store may be open for reading
 * only.
 */
int64_t kept_add(struct store *store, const char *question, const struct buffer *result, int64_t state);

/* -------------------- query.c -------------------- */

struct query_limits {
    int64_t seconds;              /* 0: no limit */
    int (*wanted)(void *context); /* called periodically; true stops the query; may be NULL */
    int allows_views; /* also views in the file; a view of an untrusted store may run without end */
};

/*
 * Runs one statement of untrusted SQL. Only SELECT is allowed, and of pragmas only those that describe
 * tables; ATTACH and loading of extensions are refused, whatever the connection would allow otherwise. One
 * query per connection at a time. `limits` is copied. Returns NULL if the SQL is refused.
 *
 *     while ((more = query_next(query, &cells, error)) == 1) ...
 */
struct query *query_open(struct store *store, const char *sql, const struct query_limits *limits,
                         struct error *error);

/*
 * Opens the first statement of *sql and moves *sql past it. Returns NULL with *is_end set if no statement is
 * left, and NULL with an error on failure.
 */
struct query *query_open_first(struct store *store, const char **sql, const struct query_limits *limits,
                               int *is_end, struct error *error);
void query_close(struct query *query);

/*
 * A table with the query's columns and no rows, valid as long as the query. The caller may add units and
 * descriptions. Repeated column names get a suffix: _2, _3 ...
 */
struct table *query_head(struct query *query);

/*
 * 1: the next row, one cell per column, borrowed until the next call; 0: no more rows; -1: the query failed,
 * timed out or was stopped. Integers are exact; blobs are returned as text x'...'.
 */
int query_next(struct query *query, const struct cell **cells, struct error *error);

/* Whether the query was stopped by the callback `wanted`. */
int query_stopped(const struct query *query);

/* -------------------- views.c -------------------- */

/*
 * The tables that users can read: the views of ncclprof-store(5), the virtual table proxy_step, and the two
 * tables that the views refer to. Each lists its columns as an export writes them.
 */
struct view {
    const char *name;
    const char *description; /* what one row is */
    const struct column *columns;
    size_t column_count;
    const char *of_run; /* SQL condition that selects the rows of the run in parameter 1 */
    const char
        *keys[4];   /* indexes for lookups by users: column names separated by commas; NULL after the last */
    int has_number; /* the first column is a number that identifies the row */
    int is_network_steps; /* has many times more rows than all other tables together */
};

enum { STORE_VIEWS_MOST = 31 };
extern const struct view store_views[]; /* at most STORE_VIEWS_MOST; name is NULL after the last */

/*
 * Selects the rows of a view, for run `run_id` or, if it is 0, for all runs. The columns are those of the
 * view, in its order. NULL on error.
 */
struct statement *view_rows(struct store *store, const struct view *view, int64_t run_id,
                            struct error *error);

/*
 * Replaces a view of computed rows, for this connection, by a temporary table with the rows of a result.
 * columns[i] is the column of the result for the view's column i. Returns -1 with an error.
 */
int view_fill(struct store *store, const struct view *view, const struct table *table, const int *columns,
              struct error *error);

/* -------------------- anonymize.c -------------------- */

/*
 * Makes a copy of a store at `path`, which must not exist, with pseudonyms ("host#1") in place of all names:
 * of hosts, files, tags, communicators, source lines, processes. Numbers of ranks, times and sizes stay. The
 * copy is open for reading and writing; NULL on error. Afterwards, close `store`.
 */
struct store *store_anonymize(struct store *store, const char *path, struct error *error);

/* -------------------- plain_file.c -------------------- */

/*
 * An SQLite file for other tools: plain tables only, without our functions and virtual tables. It is written
 * without a journal, so the caller must make sure that no reader takes it for complete before
 * plain_file_close.
 */

/*
 * Starts writing to an empty file that is open for reading and writing. The caller keeps the descriptor. NULL
 * on error.
 */
struct plain_file *plain_file_open(int descriptor, struct error *error);

/*
 * Adds a table with the view's name and columns, all rows of `rows` (from view_rows), its indexes, and one
 * row for each column in the table `description`. Sets *count to the number of rows.
 */
int plain_file_add(struct plain_file *file, const struct view *view, struct statement *rows, int64_t *count,
                   struct error *error);

/* Writes what is left and frees `file`, also on error. */
int plain_file_close(struct plain_file *file, struct error *error);

/* Frees `file` and leaves the output incomplete. NULL is allowed. */
void plain_file_discard(struct plain_file *file);

/* -------------------- files.c -------------------- */

/*
 * A snapshot of the files that the store held when it was read; any thread may read it. A file whose size
 * does not occur in it is new; no digest is needed to know that.
 */
struct known_file {
    int64_t file_id;
    uint64_t bytes;
    char digest[33];
    char dialect[64];
    int64_t events;
    int64_t skipped;
    int64_t lost_pieces;   /* pieces that could not be read */
    uint64_t first_offset; /* byte offset of the first of them */
    int64_t reader_version;
    char *reader;       /* owned: name of the format that read the file; NULL: unknown */
    char *path;         /* owned */
    char *first_reason; /* owned: reason of the first lost piece; NULL if there is none */
};

struct known {
    struct known_file *files; /* owned; sorted by size */
    size_t count;
    size_t capacity;
};

int known_read(struct known *known, struct store *store, struct error *error);
void known_release(struct known *known);

int known_has_size(const struct known *known, uint64_t bytes);

int known_has_path(const struct known *known, const char *path);

/* The file with this content; NULL if there is none. */
const struct known_file *known_find(const struct known *known, uint64_t bytes, const char *digest);

/* -------------------- runs.c -------------------- */

/*
 * Finds a run by its name or number, as `ncclprof info --runs` prints them. Returns -1 if there is none, with
 * an error that lists the runs.
 */
int run_find(struct store *store, const char *text, int64_t *run_id, struct error *error);

/*
 * Finds the runs of a list separated by commas and drops duplicates. The caller frees *ids; it is NULL on
 * error. An empty name matches no run.
 */
int run_find_all(struct store *store, const char *list, int64_t **ids, size_t *count, struct error *error);

/* -------------------- roster.c -------------------- */

/* The members of communicators. Ranks are indexes into an array of ranks; -1 means none. */

struct communicator_set_member {
    int64_t number; /* rank in the communicator */
    int32_t rank;
};

/*
 * A communicator. `size` comes from the trace and may be arbitrarily large, so memory is only used for the
 * members that are known.
 */
struct job_communicator {
    int64_t id;
    int64_t size;
    int64_t hash;       /* 0: unknown */
    int64_t node_count; /* 0: unknown */
    char *label;        /* owned */
    int32_t run;
    int size_is_known; /* 0: `size` is a lower bound */
    int64_t *members;  /* owned: global ranks of the members as files list them, in order of the ranks in the
                          communicator; NULL */
    size_t member_count;
    struct communicator_set_member
        *member_list; /* owned: members that recorded something, sorted by `number` */
    size_t member_list_count;
    size_t member_capacity;
    /*
     * Owned: members that only the list in a file gives, for numbers that member_list does not contain;
     * sorted by `number`.
     */
    struct communicator_set_member *told;
    size_t told_count;
    int is_whole;   /* contains all ranks of the run; the members without records have their global ranks as
                       numbers */
    int32_t silent; /* the run's only rank without records, which then is any member not found above; -1: not
                       exactly one */
    int follows_whole_communicator; /* most ranks are in it, and started to use it after they finished with
                           the communicator of all ranks */
    int32_t
        succeeds; /* 1 + index of the first communicator in its succession (it was created again); 0: none */
};

void job_communicator_release(struct job_communicator *communicator);

/*
 * The ranks of a run, sorted by global rank, those without one last. They are a part of an array of larger
 * structs.
 */
struct run_ranks {
    const int64_t *global_ranks; /* points at the field of the array's first element; value -1: none */
    const int64_t *process_ids;  /* points at the field of the array's first element; value -1: this rank
                                    recorded nothing */
    size_t bytes;                /* distance from one element to the next */
    size_t first;
    size_t count;
    int64_t expected; /* number of ranks of the run, as far as communicators show it */
};

/* The rank with this global rank; -1 if there is none. */
int32_t run_rank_numbered(const struct run_ranks *run, int64_t global_rank);

/*
 * The rank of member `number` of a communicator; -1 if unknown. communicator_recorded_rank looks only at
 * members that recorded something.
 */
int32_t run_rank_in(const struct run_ranks *run, const struct job_communicator *communicator, int64_t number);
int32_t communicator_recorded_rank(const struct job_communicator *communicator, int64_t number);

/*
 * The runs of a joined store, or one of them, with their ranks and communicators, and the rank of each member
 * of a communicator. Indexes refer to the arrays of struct roster; -1 means none.
 */

struct roster_run {
    int64_t id;
    int64_t expected_ranks;
    int64_t step_count;
    int64_t first_step; /* first recorded step, if steps have the program's own numbers; else 0 */
    int64_t step_base;  /* the program's number of step 0 */
    char *step_source;  /* owned */
    char *name;         /* owned; hostile */
    int has_global_ranks;
    size_t first_rank; /* index into the roster's `ranks` */
    size_t rank_count;
};

/* Facts about the process of a rank. NULL and COUNT_UNKNOWN mean unknown. */
struct roster_facts {
    char *host; /* owned, as are all texts here */
    char *gpu_bus_id;
    char *gpu_serial;
    char *nic;
    char *rank_name; /* name of the rank in the framework */
    char *vm;        /* virtual machine */
    int64_t local_rank;
    int64_t gpu; /* CUDA device number in the process */
};

void roster_facts_release(struct roster_facts *facts);

struct roster_rank {
    int64_t id;
    int64_t process_id;  /* -1: this rank recorded nothing */
    int64_t global_rank; /* -1: unknown */
    char *name;          /* owned */
    int32_t run;
    struct roster_facts facts; /* filled by roster_load_facts */
};

struct roster_member {
    int64_t id;
    int64_t number; /* rank in the communicator */
    int32_t rank;
    int32_t communicator;
};

struct roster {
    struct roster_run *runs; /* owned, as are all arrays here; sorted by id */
    size_t run_count;
    size_t run_capacity;
    struct roster_rank *ranks; /* sorted by run and global rank; in each run those without a global rank come
                                  last, sorted by name */
    size_t rank_count;
    size_t rank_capacity;
    struct job_communicator *communicators; /* sorted by id */
    size_t communicator_count;
    size_t communicator_capacity;
    struct roster_member *members; /* sorted by communicator, number and id */
    size_t member_count;
    size_t member_capacity;
    struct map rank_of;   /* id -> index */
    struct map member_of; /* id -> index */
};

/*
 * roster_load reads a run with its ranks and communicators; run_id 0 means all runs. roster_load_members adds
 * the members of the communicators, roster_load_facts the facts about the ranks' processes. Call
 * roster_release whatever they return.
 */
int roster_load(struct roster *roster, struct store *store, int64_t run_id, struct error *error);
int roster_load_members(struct roster *roster, struct store *store, int64_t run_id, struct error *error);
int roster_load_facts(struct roster *roster, struct store *store, int64_t run_id, struct error *error);
void roster_release(struct roster *roster); /* also allowed on a zeroed roster */

/* Index of the rank or communicator with this id; -1 if there is none. */
int32_t roster_rank(const struct roster *roster, int64_t id);
int32_t roster_communicator(const struct roster *roster, int64_t id);

/* The rank of member `number` of a communicator; -1 if unknown. */
int32_t roster_rank_in(const struct roster *roster, int32_t communicator, int64_t number);

/* The member with this id; NULL if there is none. */
const struct roster_member *roster_member(const struct roster *roster, int64_t id);

/*
 * Parses the members of a communicator as the store keeps them: global ranks in order of the ranks in the
 * communicator, "[0,4,8]". The caller frees *ranks. *count is 0 if the text is not such a list, or contains a
 * rank twice or a rank larger than a C int, the type that NCCL uses. -1: out of memory.
 */
int members_read(const char *text, int64_t **ranks, size_t *count);

/* -------------------- packed_table.c -------------------- */

/* Bits of OPERATION_FLAGS. */
enum {
    OPERATION_IS_UNFINISHED = 1,
    OPERATION_IS_CAPTURED = 2,
    OPERATION_HAS_NUMBER = 4, /* `tag` is the decimal number of a named tag */
    OPERATION_IS_SYMMETRIC = 8
};

extern const struct block_layout operation_layout;

/*
 * Columns of operation_join_block: what the join found for the operations of the block with the same number,
 * row by row.
 */
enum joined_column { JOINED_ORDINAL, JOINED_INSTANCE, JOINED_STEP, JOINED_TAG, JOINED_COLUMNS };

extern const struct block_layout joined_layout;

/* Columns of instance_block: the collectives and point-to-point operations of one communicator. */
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

/* Columns of a block of samples of a node. */
enum node_sample_column {
    NODE_SAMPLE_ORDINAL,
    NODE_SAMPLE_BEGIN,
    NODE_SAMPLE_AT,
    NODE_SAMPLE_VALUE, /* times the block's divisor */
    NODE_SAMPLE_COLUMNS
};

extern const struct block_layout node_sample_layout;

/*
 * block_open and block_column (model/block.c) for a stored block. On failure they return -1 with an error
 * that names the block.
 */
int stored_block_open(struct block_reader *reader, int64_t block_id, const void *packed, size_t length,
                      struct error *error);
int stored_block_unpack(struct block_reader *reader, int64_t block_id, const int *columns, size_t count,
                        struct error *error);
int stored_block_damaged(
    int64_t block_id,
    struct error *error); /* returns -1 with the error for a block whose columns contradict each other */

/* -------------------- foreign.c -------------------- */

/*
 * Opens the database of another program. `stopped` is called periodically and may be NULL; if it returns
 * true, reading ends. NULL with an error if the file is not such a database.
 */
struct foreign *foreign_open(const char *path, int (*stopped)(void *context), void *context,
                             struct error *error);
void foreign_close(struct foreign *foreign);

/* The result is valid as long as `foreign`. */
const struct foreign_tables *foreign_tables(const struct foreign *foreign);

#endif

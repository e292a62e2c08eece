#ifndef NCCLPROF_STORE_RECORDS_H
#define NCCLPROF_STORE_RECORDS_H

#include "model/model.h"

#include <stddef.h>
#include <stdint.h>

struct names;
struct operation_cursor;
struct statement;
struct store;
struct unloader;
struct writer;

/* -------------------- rows.c -------------------- */

/*
 * Rows of the tables of records (model/record.h) in plain memory, on their way from the thread that reads a
 * file, or another store, to the one that writes the store (insert.c). Nothing here knows SQLite or the ids
 * of a store: a record's id is its ordinal in the file, processes and members have the file's numbers.
 */

struct span {
    size_t offset;
    size_t length;
    int present; /* false: NULL */
};

enum row_type { ROW_NULL, ROW_INTEGER, ROW_REAL, ROW_TEXT, ROW_BLOB };

/* There are as many of them as of values in a trace. */
struct row_cell {
    enum row_type type;
    uint32_t length; /* of a text or blob, which lies at `offset` in the bytes */
    union {
        int64_t integer;
        double real;
        uint64_t offset;
    };
};

struct rows {
    struct {
        struct row_cell *cells; /* owned: row after row */
        size_t count;           /* cells */
        size_t capacity;
    } tables[EVENT_TABLES];
    struct buffer bytes; /* texts and blobs, each with a NUL behind it */
};

void rows_release(struct rows *rows);
void rows_clear(struct rows *rows);
size_t rows_size_bytes(const struct rows *rows);
size_t rows_count(const struct rows *rows, enum event_kind kind);
const struct row_cell *rows_at(const struct rows *rows, enum event_kind kind, size_t row);

/* Copies a text to the bytes; NULL makes a span that is not present. -1 when memory is out. */
int rows_put_text(struct rows *rows, const char *text, struct span *span);
/* What was appended to the bytes since `at`, unless that failed. */
int rows_put_bytes(struct rows *rows, size_t at, int failed, struct span *span);
/* The bytes of a span, NULL for one that is not present. Followed by a NUL. Borrowed. */
const char *rows_bytes(const struct rows *rows, struct span span);

/* A row while its cells are put, one after the other. */
struct row {
    struct rows *rows;
    enum event_kind kind;
    struct row_cell *next;
};

/* -1 when memory is out. */
int row_begin(struct row *row, struct rows *rows, enum event_kind kind);
void row_end(struct row *row);

void row_null(struct row *row);
void row_integer(struct row *row, int64_t value);
void row_real(struct row *row, double value);
/* NULL where the value is the one that stands for unknown. */
void row_known(struct row *row, int64_t value, int64_t unknown);
/* -1 where it is longer than 4 GB. */
int row_span(struct row *row, enum row_type type, struct span span);
/* -1 when memory is out. */
int row_text(struct row *row, const char *text);

/* -------------------- batch.c -------------------- */

/*
 * Events of one file as rows in plain memory: what a thread that parses makes and the thread that writes
 * consumes (insert.c). Processes, communicators and members have numbers of this file, 0, 1, 2 ... in the
 * order in which the file's batches introduce them; texts and packed blobs are spans of the rows' bytes.
 */

struct batch_process {
    struct span host;
    int64_t pid;
    int64_t started_ns;
};

/* A communicator when it is first seen, and once more when a later line says more of it. */
struct batch_communicator {
    uint32_t number;
    uint64_t hash;
    struct span name;
    int is_named;        /* the hash is of its name and members, not NCCL's */
    int64_t size;        /* 0: not said */
    int64_t node_count;  /* 0: not said */
    struct span members; /* "[0,4,8]": global ranks, in order of its ranks */
    struct span description;
};

struct batch_member {
    uint32_t communicator;
    uint32_t process;
    int64_t rank;
};

struct batch_operation {
    uint32_t member;
    uint64_t offset;
    struct operation operation; /* its pointers are not valid: see the spans */
    struct span tag;
    struct span source;
    struct span channels; /* packed */
};

#define BATCH_LIST(type) \
    struct {             \
        type *items;     \
        size_t count;    \
        size_t capacity; \
    }

struct batch {
    BATCH_LIST(struct batch_process) processes;
    BATCH_LIST(struct batch_communicator) communicators;
    BATCH_LIST(struct batch_member) members;
    BATCH_LIST(struct batch_operation) operations;
    struct rows rows;
};

void batch_init(struct batch *batch);
void batch_release(struct batch *batch);

/* Empties it; the memory is kept for the next use. */
void batch_clear(struct batch *batch);

/* Memory that its rows take, to decide when it is full. */
size_t batch_size_bytes(const struct batch *batch);

/*
 * Turns the events of one file into batches. It remembers across batches which processes, communicators and
 * members the file has introduced, so one file needs one builder and its batches keep their order.
 */
struct batch_builder {
    struct intern hosts;
    struct map processes;     /* host number, pid -> process */
    struct map communicators; /* hash -> communicator */
    struct map members;       /* communicator, process, rank -> member */
    struct batch_communicator
        *known; /* what has been said of each communicator; name's span only says whether */
    size_t known_capacity;
    int64_t ordinals[EVENT_TABLES]; /* of the next row of each */
    int is_full;                    /* there are more rows of one than ids */
    int64_t events;                 /* records understood so far */
    uint64_t told_bytes;            /* of texts and lists that they took, and BATCH_ROW_BYTES for each */
    struct block_writer operations; /* that are being packed */
    struct buffer packed;           /* what came of it */
    struct {
        int64_t member; /* of the newest record that has one; -1 before it */
        uint64_t hash;
        int64_t rank;
        int64_t pid;
        int64_t started_ns;
        int64_t host; /* its number */
        uint32_t communicator;
    } last;
};

void batch_builder_init(struct batch_builder *builder);
void batch_builder_release(struct batch_builder *builder);

/* Adds a row for `event` to `batch`. On -1 (memory, or more than 2^32 records) both are only fit for release.
 */
int batch_add(struct batch_builder *builder, struct batch *batch, const struct event *event,
              struct error *error);

/* -------------------- files.c -------------------- */

/* What one file holds that did not become an event, by reason: the rows of table ledger before they are rows.
 */

enum {
    LEDGER_REASONS = 64, /* reasons past these are counted together under one */
    LEDGER_EXAMPLE_BYTES = 120
};

struct ledger_entry {
    char *reason; /* owned */
    int damage;
    int64_t count;
    uint64_t first_offset;
    char example[LEDGER_EXAMPLE_BYTES + 1]; /* hostile; what follows a NUL is left out */
};

struct ledger {
    struct ledger_entry entries[LEDGER_REASONS];
    size_t count;
};

/* -------------------- insert.c -------------------- */

/*
 * Puts batches into the store. One inserter a connection, inside a transaction that the caller holds; it
 * remembers the ids of processes, communicators and members across files.
 */

/* A row is found by the same parameters as it is added by: FIND_ and ADD_ follow each other. */
enum lookup {
    FIND_PROCESS,
    ADD_PROCESS,
    FIND_COMMUNICATOR,
    ADD_COMMUNICATOR,
    TELL_COMMUNICATOR,
    FIND_MEMBER,
    ADD_MEMBER,
    ADD_FILE_MEMBER,
    TELL_PEER,
    LOOKUPS
};

struct inserter {
    struct store *store;
    struct intern texts;
    struct map processes;     /* file set, host, pid -> process_id */
    struct map communicators; /* hash, file or 0 -> communicator_id */
    struct map members;       /* communicator_id, rank, process_id -> member_id */
    struct statement *lookups[LOOKUPS];
    struct statement *one[EVENT_TABLES];  /* inserts one row */
    struct statement *many[EVENT_TABLES]; /* inserts BULK_ROWS rows: faster by half */
};

/* A file on its way in: what its builder's numbers are in the store. */
struct insert_target {
    int64_t file_id;
    int64_t first_ordinal; /* of the part of the file that comes by this way: added to ordinals */
    const char *file_set;  /* borrowed, as is the path */
    const char *path;
    int64_t *processes; /* owned arrays, by the builder's numbers */
    size_t process_count;
    size_t process_capacity;
    int64_t *communicators;
    size_t communicator_count;
    size_t communicator_capacity;
    struct target_member {
        int64_t id;
        int64_t greatest_peer; /* that its network traffic has named; INT64_MIN: no traffic */
        int has_news;          /* the store does not know of it yet */
    } * members;
    size_t member_count;
    size_t member_capacity;
};

int inserter_init(struct inserter *inserter, struct store *store, struct error *error);
void inserter_release(struct inserter *inserter);

/* Forgets ids: rows may have gone that it remembers. */
void inserter_forget(struct inserter *inserter);

/* All rows of a batch, whose operations are packed (batch_pack). On -1 the transaction can only be rolled
 * back. */
int inserter_put(struct inserter *inserter, struct insert_target *target, const struct batch *batch,
                 struct error *error);

void insert_target_release(struct insert_target *target);

/* -------------------- unload.c -------------------- */

/*
 * The way back of insert.c: the files of a store, and their rows as they came in, for another store. Packed
 * blocks stay packed; what a join made of blocks is passed over in favour of what was recorded. The store is
 * another's, who may be hostile: of what it holds nothing is trusted.
 */

struct stored_file {
    int64_t id;
    char *path; /* owned, as are the other texts */
    char *file_set;
    char *dialect;
    char *digest;
    char *unpacked_digest; /* NULL: not known */
    char *reader;          /* the format whose reader read it; NULL: not known */
    int64_t reader_version;
    int64_t bytes;
    int64_t unpacked_bytes;
    int64_t events;
    int64_t skipped;
    int64_t modified_ns; /* since the epoch; 0: not known */
    int is_open;         /* it was being written, or its writer was killed */
};

struct stored_files {
    struct stored_file *items; /* owned, by id */
    size_t count;
    size_t capacity;
};

int stored_files_read(struct stored_files *files, struct store *store, struct error *error);
void stored_files_release(struct stored_files *files);

/* Borrows the store. */
struct unloader *unloader_new(struct store *store, struct error *error);
void unloader_free(struct unloader *unloader);

/*
 * A file of the store on its way to another one, some MB of it at once: read here by one thread, put there by
 * another, or by the same one in turn.
 *
 *     unloader_begin(unloader, &load, file_id, digest, error);     the first of it
 *     unload_put(&load, inserter, &target, error);
 *     while (!load.is_all) unloader_more(unloader, &load, error), unload_put(...);
 *
 * What fails in the first and the third is the fault of the store that is read; it may have changed, too.
 */
struct unload {
    struct ledger ledger; /* what it says of the file */
    int is_all;           /* nothing of it is left to be read */
    uint64_t bytes;       /* of what was put so far, about */
    int64_t file_id;
    const char *digest;  /* borrowed */
    struct names *names; /* owned */
};

/* A load begins as zeros, and serves one file after another. */
void unload_release(struct unload *load);

int unloader_begin(struct unloader *unloader, struct unload *load, int64_t file_id, const char *digest,
                   struct error *error);
int unloader_more(struct unloader *unloader, struct unload *load, struct error *error);

/* Puts what has been read. 1, with `error` set: the rows cannot be as they were read; -1: the store that is
 * written failed. */
int unload_put(struct unload *load, struct inserter *inserter, struct insert_target *target,
               struct error *error);

/* -------------------- writer.c -------------------- */

/*
 * Writes batches of rows into the store, each file whole or not at all. Several files may be on their way at
 * once; they share a transaction, which can be committed when none is.
 *
 *     writer_begin(writer, &file, order, first_ordinal, path, file_set);
 *     writer_put(writer, &file, batch) ...
 *     writer_finish(writer, &file, &facts, &outcome)      or writer_abandon(writer, &file)
 *     ... more files ...
 *     writer_commit(writer);
 *
 * When a function fails, what was not committed is gone (rolled back) and the writer only good for
 * writer_free: the store itself is at fault.
 */
struct writer *writer_new(struct store *store, struct error *error);
void writer_free(struct writer *writer); /* rolls back what is not committed */

/* A file on its way; writer_finish and writer_abandon release it, too. */
struct writer_file {
    struct insert_target target;
    char *path;
    char *file_set;
};

void writer_file_release(struct writer_file *file);

/*
 * `order` counts the files of this writer, 0, 1, 2 ...: they are numbered by it, in whatever order they
 * arrive. Both texts are copied; pipes, whose path and file set are "-", have a file set that is this
 * writer's. A file may
 * come in parts, side by side, each with a struct writer_file and the order of the file, and with a
 * first_ordinal that keeps its records apart from those of the others: one of them is finished or abandoned
 * for all, the others are released.
 */
int writer_begin(struct writer *writer, struct writer_file *file, int64_t order, int64_t first_ordinal,
                 const char *path, const char *file_set, struct error *error);

int writer_put(struct writer *writer, struct writer_file *file, const struct batch *batch,
               struct error *error);

/*
 * Rows out of another store, in place of a batch. 1, with `error` set: that store is at fault; the file is to
 * be abandoned.
 */
int writer_unload(struct writer *writer, struct writer_file *file, struct unload *load, struct error *error);

struct writer_facts {
    const char *dialect;
    const char *digest;
    const char *unpacked_digest; /* of the bytes that come out of gzip; NULL: not known */
    uint64_t bytes;
    uint64_t unpacked_bytes;
    int64_t events;
    int64_t modified_ns; /* when the file was last written, since the epoch; 0: not known */
    const char *reader;  /* the format whose reader read it; NULL: not known */
    int64_t reader_version;
    const struct ledger *ledger;
    int force;       /* takes the place of a file of the same content, instead of being dropped */
    int is_open;     /* it is being written, or its writer was killed */
    int has_moved;   /* likewise, of one that came in before this writer: its directory holds it no longer */
    int is_snapshot; /* what came before from the same path stays */
    int by_reader; /* takes the place of a file of the same content that an earlier version of its reader read
                    */
};

enum writer_outcome { WRITER_INGESTED, WRITER_OPEN, WRITER_PARTIAL, WRITER_UNCHANGED };

/*
 * The file is complete: it takes the place of what came from the same path before. WRITER_UNCHANGED: the same
 * content, packed or not, is already there, so nothing of it is kept.
 */
int writer_finish(struct writer *writer, struct writer_file *file, const struct writer_facts *facts,
                  enum writer_outcome *outcome, struct error *error);

/* Nothing of the file is kept. */
int writer_abandon(struct writer *writer, struct writer_file *file, struct error *error);

/* Whether the transaction has grown, or lasted, long enough to be committed soon. */
int writer_is_due(const struct writer *writer);

/* Only while no file is on its way. Leaves other processes a moment to get in. */
int writer_commit(struct writer *writer, struct error *error);

/*
 * One file on its way into the store, at the side that parses: takes events and notes (its two functions fit
 * a format_sink) and makes batches of rows of them. It knows nothing of the store, so any thread may run it.
 */
struct intake {
    struct batch_builder builder;
    struct ledger ledger;
    struct batch *batch; /* the one being filled */
    int failed;          /* something here failed, so that a reader's failure is not the file's */
    void *context;
    /* Takes the full batch (its operations packed) away and gives an empty one in its place. */
    int (*full)(void *context, struct batch **batch, struct error *error);
};

/* `batch` is empty; intake never frees it. */
void intake_init(struct intake *intake, struct batch *batch,
                 int (*full)(void *context, struct batch **batch, struct error *error), void *context);
void intake_release(struct intake *intake);

/* The file is at its end: hands on what is left. */
int intake_end(struct intake *intake, struct error *error);

int intake_event(void *intake, const struct event *event, struct error *error);
int intake_note(void *intake, const char *reason, int damage, uint64_t offset, const char *detail,
                size_t detail_length, struct error *error);

/* -------------------- insert.c -------------------- */

/*
 * Packs the batch's operations into blocks; there are none left afterwards. To be done before the batch is
 * written. On -1 (memory) the batch is only fit for release.
 */
int batch_pack(struct batch_builder *builder, struct batch *batch, struct error *error);

/* -------------------- forget.c -------------------- */

/* A file that went. */
struct forgotten_file {
    int64_t id; /* it had */
    char *path; /* owned */
    char dialect[64];
    int64_t events;
    int64_t skipped;
    int64_t bytes;
};

struct forgotten {
    struct forgotten_file *files; /* owned; run by run, by path */
    size_t count;
    size_t capacity;
};

void forgotten_release(struct forgotten *forgotten);

/*
 * Removes runs: the files that speak of them, those that name no process and lie nearest to their files, and
 * all that came from these. Wants joined tables, and happens
 * in the caller's transaction; the tables have to be joined anew afterwards. Refuses, with nothing removed,
 * where a file speaks of a run, too, that is not among `runs`. `forgotten` is initialised by the caller.
 */
int forget_runs(struct store *store, const int64_t *runs, size_t count, struct forgotten *forgotten,
                struct error *error);

/* -------------------- record_tables.c -------------------- */

/*
 * Statements about all tables of records, made of the one description of them (model/record.h): a table that
 * is added there takes part in all of them.
 */

/*
 * A statement out of schemas/, with every marker in it replaced by SQL about each table whose records name a
 * process:
 *
 *     processes of file ?1              UNION SELECT the processes that the records of file ?1 name
 *     processes that file ?1 recorded   the same, whatever a join has made of the records
 *     files of run ?1                   UNION SELECT the files with records of a process of run ?1
 *     and of no record                  AND process_id is named by no record
 *     and without a process             AND file_id is of no file whose records name a process
 *
 * and, as sentences of their own, about those of them that joins change:
 *
 *     records go back                   what is kept replaces what joins made of it
 *     records of heard are kept         as they are
 *     records of heard are moved        to those that tables heard and heard_member say
 *
 * and of blocks of operations
 *
 *     columns of a block                those of operation_block
 *
 * each as a comment. NULL on error.
 */
struct statement *record_tables_prepare(struct store *store, const char *sql, struct error *error);
/* The same of statements that return nothing: runs them. */
int record_tables_execute(struct store *store, const char *sql, struct error *error);

/* A table of each kind, what is kept and what is joined of it, and the file's own. */
enum { REMOVAL_STATEMENTS = 3 * EVENT_TABLES + 3 };

/* DELETE of all that is stored of file ?1, the file itself last. The caller frees `count` statements, also
 * after -1. */
int record_tables_removal(struct store *store, struct statement *statements[REMOVAL_STATEMENTS],
                          size_t *count, struct error *error);

/* File `from`, its records, and what joins made of them, take the number `to`, which no file has. */
int record_tables_renumber(struct store *store, int64_t from, int64_t to, struct error *error);

/* The records of process or member `from`, as `whose` says, become those of `to`. Before `from` goes. */
int record_tables_move(struct store *store, enum field_kind whose, int64_t from, int64_t to,
                       struct error *error);

/* -------------------- forget.c -------------------- */

/*
 * Takes files out of the store again. All of it happens in the caller's transaction: note, remove, and once
 * at its end sweep.
 */

struct removal {
    struct statement *note; /* owned, as are those of the tables */
    struct statement *statements[REMOVAL_STATEMENTS];
    size_t count;
};

int removal_init(struct removal *removal, struct store *store, struct error *error);
void removal_release(struct removal *removal);

/* The jobs that a file speaks of are to be joined anew. Before the file is removed. */
int removal_note(struct removal *removal, int64_t file_id, struct error *error);

/* Everything that came from the file, and its own row. */
int removal_file(struct removal *removal, int64_t file_id, struct error *error);

/* Processes, communicators and members that no file speaks of any longer. */
int removal_sweep(struct store *store, struct error *error);

/*
 * Joins unite the log of a process with its trace, and prefer the newest dump of RAS; the rows that this
 * changes are kept (schemas/store/018_recorded_again.sql). Puts them back, in the caller's transaction, so
 * that files can come and go and be joined anew. 1: there were some, and the tables are not joined any
 * longer; 0: there were none; -1.
 */
int recorded_restore(struct store *store, struct error *error);

/* -------------------- operations.c -------------------- */

struct stored_operation {
    int64_t id;
    int64_t member_id;
    int64_t instance_id;
    int64_t step;    /* -1: none */
    const char *tag; /* that applies, whether the record carries it or not; NULL: none */
    /* As it was recorded; what is not known is as in model/event.h. Its `channels` stay packed: */
    struct operation operation;
    const void *kernel_channels; /* model/pack.h; NULL: none */
    size_t kernel_channels_bytes;
    int64_t byte_offset; /* in the unpacked file */
};

/* `run_id` 0: all runs. NULL on error. */
struct operation_cursor *operation_cursor_open(struct store *store, int64_t run_id, struct error *error);
void operation_cursor_close(struct operation_cursor *cursor); /* NULL: nothing */

/*
 * From then on only operations of steps that are wanted come, -1 for none; called before the first. Blocks
 * without any are not unpacked. `context` is borrowed until the cursor is closed.
 */
typedef int (*operation_wanted)(const void *context, int64_t step);
void operation_cursor_choose(struct operation_cursor *cursor, operation_wanted is_wanted,
                             const void *context);

/* 1 with the next operation (texts and bytes are borrowed until the next call), 0 after the last, -1. */
int operation_cursor_next(struct operation_cursor *cursor, struct stored_operation *stored,
                          struct error *error);

/* -------------------- packed_table.c -------------------- */

/* operation_block: operations of one member, as model/event.h packs them. */
#define NUMBERED(name, ...) OPERATION_##name,
enum operation_column {
    OPERATION_ORDINAL,
    PACKED_OPERATION(NUMBERED, NUMBERED, NUMBERED, NUMBERED) OPERATION_COLUMNS,
    OPERATION_COLUMNS_FIRST = OPERATION_KERNEL_CHANNELS + 1 /* so many had blocks of form 1 */
};
#undef NUMBERED

/* -------------------- operations.c -------------------- */

/*
 * Operations or instances of a run block by block, for who goes through all of them and wants few columns:
 * ten times as fast as rows. The store must be joined.
 *
 *     struct block_scan scan;
 *     int more = scan_operations(&scan, store, run_id, error) ? -1 : 1;
 *     while (more == 1 && (more = scan_next(&scan, error)) == 1)
 *         if (scan_columns(&scan, columns, count, error)) more = -1;
 *         else ... block_value(&scan.rows, OPERATION_DURATION, row, ...) for each row < scan.rows.count
 *     scan_release(&scan);
 */
struct block_scan {
    struct statement *source;
    int64_t block_id; /* a row's id is this plus its ordinal */
    int64_t owner_id; /* the member, of instances the communicator, that all rows belong to */
    struct block_reader rows;
    struct block_reader joined; /* of operations: what the join says of the same rows */
    int has_joined;
};

/* By ascending block. `run_id` 0: all runs. Release it whatever comes back. */
int scan_operations(struct block_scan *scan, struct store *store, int64_t run_id, struct error *error);
int scan_instances(struct block_scan *scan, struct store *store, int64_t run_id, struct error *error);
void scan_release(struct block_scan *scan);

/* 1 with the next block, nothing of it unpacked yet; 0 after the last; -1. */
int scan_next(struct block_scan *scan, struct error *error);

/* Unpacks columns of `rows`, or of `joined`. */
int scan_columns(struct block_scan *scan, const int *columns, size_t count, struct error *error);
int scan_joined_columns(struct block_scan *scan, const int *columns, size_t count, struct error *error);

/*
 * How long an operation was on the device: as its recorder says, else from its begin to its end; `unknown`
 * where neither is told. Wants the columns OPERATION_DURATION, OPERATION_DEVICE_BEGIN and _END.
 */
static inline int64_t scan_duration(const struct block_reader *rows, size_t row, int64_t unknown)
{
    if (!rows->absent[OPERATION_DURATION][row])
        return rows->values[OPERATION_DURATION][row];
    if (rows->absent[OPERATION_DEVICE_BEGIN][row] || rows->absent[OPERATION_DEVICE_END][row])
        return unknown;
    return rows->values[OPERATION_DEVICE_END][row] - rows->values[OPERATION_DEVICE_BEGIN][row];
}

#endif

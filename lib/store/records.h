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
 * Rows of the record tables (lib/model/record.c) in memory, on their way from the thread that reads a file or
 * another store to the thread that writes the store (insert.c). This code knows neither SQLite nor the ids of
 * a store: a record's id is its ordinal in the file, and processes and members have numbers that are local to
 * the file.
 */

struct span {
    size_t offset;
    size_t length;
    int present; /* 0: NULL */
};

enum row_type { ROW_NULL, ROW_INTEGER, ROW_REAL, ROW_TEXT, ROW_BLOB };

/* One cell for each value in a trace, so the struct is kept small. */
struct row_cell {
    enum row_type type;
    uint32_t length; /* length of a text or blob, which begins at `offset` in `bytes` */
    union {
        int64_t integer;
        double real;
        uint64_t offset;
    };
};

struct rows {
    struct {
        struct row_cell *cells; /* owned: row after row */
        size_t count;           /* number of cells */
        size_t capacity;
    } tables[EVENT_TABLES];
    struct buffer bytes; /* texts and blobs, each followed by a NUL */
};

void rows_release(struct rows *rows);
void rows_clear(struct rows *rows);
size_t rows_size_bytes(const struct rows *rows);
size_t rows_count(const struct rows *rows, enum event_kind kind);
const struct row_cell *rows_at(const struct rows *rows, enum event_kind kind, size_t row);

/* Appends a text to the bytes. A NULL text gives a span that is not present. -1 if memory is out. */
int rows_put_text(struct rows *rows, const char *text, struct span *span);
/*
 * Sets `span` to the bytes appended since offset `at`. Returns -1 if `failed` is set, i.e. appending failed.
 */
int rows_put_bytes(struct rows *rows, size_t at, int failed, struct span *span);
/* The bytes of a span, followed by a NUL, borrowed; NULL for a span that is not present. */
const char *rows_bytes(const struct rows *rows, struct span span);

/* A row that is being built, cell by cell. */
struct row {
    struct rows *rows;
    enum event_kind kind;
    struct row_cell *next;
};

/* -1 if memory is out. */
int row_begin(struct row *row, struct rows *rows, enum event_kind kind);
void row_end(struct row *row);

void row_null(struct row *row);
void row_integer(struct row *row, int64_t value);
void row_real(struct row *row, double value);
/* Adds an integer, or NULL if `value` equals `unknown`. */
void row_integer_or_null(struct row *row, int64_t value, int64_t unknown);
/* Adds a text or blob. -1 if it is longer than 4 GB. */
int row_span(struct row *row, enum row_type type, struct span span);
/* Adds a text. -1 if memory is out. */
int row_text(struct row *row, const char *text);

/* -------------------- batch.c -------------------- */

/*
 * The events of one file as rows in memory: made by a thread that parses, consumed by the thread that writes
 * (insert.c). Processes, communicators and members have numbers local to the file, 0, 1, 2 ... in the order
 * in which the file's batches introduce them. Texts and packed blobs are spans of the rows' bytes.
 */

struct batch_process {
    struct span host;
    int64_t pid;
    int64_t started_ns;
};

/* Emitted when a communicator is first seen, and again when a later line gives more facts about it. */
struct batch_communicator {
    uint32_t number;
    uint64_t hash;
    struct span name;
    int is_named;        /* the hash was made from its name and members; it is not NCCL's */
    int64_t size;        /* 0: unknown */
    int64_t node_count;  /* 0: unknown */
    struct span members; /* "[0,4,8]": global ranks in order of the ranks in the communicator */
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
    struct operation operation; /* its pointers are not valid: the spans below hold the texts */
    struct span tag;
    struct span source;
    struct span channels; /* packed (lib/model/pack.c) */
};

/* The texts of its series are in struct batch_builder. */
struct batch_node_sample {
    uint32_t series;
    int64_t begin_ns; /* as in struct node_sample */
    int64_t at_ns;
    int64_t error_ns;
    double value;
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
    BATCH_LIST(struct batch_node_sample) node_samples;
    struct rows rows;
};

void batch_init(struct batch *batch);
void batch_release(struct batch *batch);

/* Empties the batch and keeps its memory for reuse. */
void batch_clear(struct batch *batch);

/* Memory used by the batch's rows; decides when a batch is full. */
size_t batch_size_bytes(const struct batch *batch);

/* A metric of a device of a host. */
struct node_series {
    int64_t host; /* 1 + the number of its name among the builder's hosts; 0: none, as for `device` */
    int64_t device;
    int64_t place; /* enum node_place */
    int64_t metric;
};

struct node_series_list {
    struct node_series *items; /* owned */
    size_t count;
    size_t capacity;
    struct map numbers;         /* the values of a struct node_series -> its index */
    struct block_writer writer; /* samples that are being packed */
};

/*
 * Turns the events of one file into batches. It remembers across batches which processes, communicators and
 * members the file has introduced. So each file needs a builder of its own, and its batches must stay in
 * order.
 */
struct batch_builder {
    struct intern hosts;              /* also names of devices of nodes */
    struct map processes;             /* host number, pid -> process */
    struct map communicators;         /* hash -> communicator */
    struct map members;               /* communicator, process, rank -> member */
    struct batch_communicator *known; /* facts emitted so far; of the name only whether it was */
    size_t known_capacity;
    int64_t ordinals[EVENT_TABLES]; /* next ordinal of each table */
    int is_full;                    /* a table has more rows than ids */
    int64_t events;                 /* events stored so far */
    uint64_t told_bytes; /* bytes of the file's texts and lists, plus BATCH_ROW_BYTES for each event */
    struct block_writer operations; /* operations that are being packed */
    struct buffer packed;           /* their packed block */
    struct node_series_list series;
    struct {
        int64_t member; /* member of the newest record that has one; -1 before the first */
        uint64_t hash;
        int64_t rank;
        int64_t pid;
        int64_t started_ns;
        int64_t host; /* number of its host */
        uint32_t communicator;
    } last;
};

void batch_builder_init(struct batch_builder *builder);
void batch_builder_release(struct batch_builder *builder);

/*
 * Adds a row for `event` to `batch`. On -1 (out of memory, or more than 2^32 records) both can only be
 * released.
 */
int batch_add(struct batch_builder *builder, struct batch *batch, const struct event *event,
              struct error *error);

/* -------------------- node_samples.c -------------------- */

/* Adds a sample of a node to the batch. -1 if memory is out. */
int node_sample_add(struct batch_builder *builder, struct batch *batch, const struct node_sample *sample);

/* Packs the samples of the batch as rows, and empties their list. -1 if memory is out. */
int node_samples_pack(struct batch_builder *builder, struct batch *batch);

void node_series_release(struct node_series_list *list);

/* -------------------- files.c -------------------- */

/* The skipped input of one file, counted by reason: later the rows of table ledger. */

enum {
    LEDGER_REASONS = 64, /* further reasons are counted together as one */
    LEDGER_EXAMPLE_BYTES = 120
};

struct ledger_entry {
    char *reason; /* owned */
    int damage;
    int64_t count;
    uint64_t first_offset;
    char example[LEDGER_EXAMPLE_BYTES + 1]; /* a sample of the input, hostile; ends at the first NUL */
};

struct ledger {
    struct ledger_entry entries[LEDGER_REASONS];
    size_t count;
};

/* -------------------- insert.c -------------------- */

/*
 * Inserts batches into the store. One inserter per connection, used inside a transaction of the caller. It
 * remembers the ids of processes, communicators and members across files.
 */

/* FIND_ and ADD_ come in pairs and take the same parameters: a row that is not found is added. */
enum lookup {
    FIND_PROCESS,
    ADD_PROCESS,
    FIND_COMMUNICATOR,
    ADD_COMMUNICATOR,
    UPDATE_COMMUNICATOR,
    FIND_MEMBER,
    ADD_MEMBER,
    ADD_FILE_MEMBER,
    UPDATE_GREATEST_PEER,
    LOOKUPS
};

struct inserter {
    struct store *store;
    struct intern texts;
    struct map processes;     /* file set, host, pid -> process_id */
    struct map communicators; /* hash, file or 0 -> communicator_id */
    struct map members;       /* communicator_id, rank, process_id -> member_id */
    struct statement *lookups[LOOKUPS];
    struct statement *one[EVENT_TABLES];  /* insert one row */
    struct statement *many[EVENT_TABLES]; /* insert BULK_ROWS rows at once, which is faster */
};

/* A file that is being inserted. Maps the numbers of its builder to ids of the store. */
struct insert_target {
    int64_t file_id;
    int64_t first_ordinal; /* added to the ordinals of this part of the file */
    const char *file_set;  /* borrowed, as is `path` */
    const char *path;
    int64_t *processes; /* owned arrays, indexed by the builder's numbers */
    size_t process_count;
    size_t process_capacity;
    int64_t *communicators;
    size_t communicator_count;
    size_t communicator_capacity;
    struct target_member {
        int64_t id;
        int64_t greatest_peer; /* greatest peer in its network traffic; INT64_MIN: no traffic */
        int has_news;          /* not yet written to the store */
    } * members;
    size_t member_count;
    size_t member_capacity;
};

int inserter_init(struct inserter *inserter, struct store *store, struct error *error);
void inserter_release(struct inserter *inserter);

/* Forgets the remembered ids, because their rows may have been removed. */
void inserter_forget(struct inserter *inserter);

/*
 * Inserts all rows of a batch whose operations were packed by batch_pack. On -1 the transaction can only be
 * rolled back.
 */
int inserter_put(struct inserter *inserter, struct insert_target *target, const struct batch *batch,
                 struct error *error);

void insert_target_release(struct insert_target *target);

/* -------------------- unload.c -------------------- */

/*
 * The reverse of insert.c: reads the files of a store and their rows, as they were recorded, in order to
 * write them to another store (merge). Packed blocks stay packed. Where a join changed records, the recorded
 * ones are read. The store that is read may be hostile: its content is not trusted.
 */

struct stored_file {
    int64_t id;
    char *path; /* owned, as are the other texts */
    char *file_set;
    char *dialect;
    char *digest;
    char *unpacked_digest; /* NULL: unknown */
    char *reader;          /* name of the format that read the file; NULL: unknown */
    int64_t reader_version;
    int64_t bytes;
    int64_t unpacked_bytes;
    int64_t events;
    int64_t skipped;
    int64_t modified_ns; /* since the epoch; 0: unknown */
    int is_open;         /* the file was still being written, or its writer was killed */
};

struct stored_files {
    struct stored_file *items; /* owned, sorted by id */
    size_t count;
    size_t capacity;
};

int stored_files_read(struct stored_files *files, struct store *store, struct error *error);
void stored_files_release(struct stored_files *files);

/* Borrows the store. NULL on error. */
struct unloader *unloader_new(struct store *store, struct error *error);
void unloader_free(struct unloader *unloader);

/*
 * A file on its way from one store to another, a few MB at a time. One thread may read while another writes,
 * or one thread does both in turn.
 *
 *     unloader_begin(unloader, &load, file_id, digest, error);     the first piece
 *     unload_put(&load, inserter, &target, error);
 *     while (!load.is_all) unloader_more(unloader, &load, error), unload_put(...);
 *
 * A failure of unloader_begin or unloader_more is a fault of the store that is read; it may also have been
 * changed meanwhile.
 */
struct unload {
    struct ledger ledger; /* the file's skipped input */
    int is_all;           /* everything was read */
    uint64_t bytes;       /* approximate size of what was put so far */
    int64_t file_id;
    const char *digest;  /* borrowed */
    struct names *names; /* owned */
};

/* A load starts zeroed and can be reused for one file after another. */
void unload_release(struct unload *load);

int unloader_begin(struct unloader *unloader, struct unload *load, int64_t file_id, const char *digest,
                   struct error *error);
int unloader_more(struct unloader *unloader, struct unload *load, struct error *error);

/*
 * Writes what was read. 1, with `error` set: the rows read are invalid; -1: the store that is written failed.
 */
int unload_put(struct unload *load, struct inserter *inserter, struct insert_target *target,
               struct error *error);

/* -------------------- writer.c -------------------- */

/*
 * Writes batches of rows into the store; each file is written completely or not at all. Several files may be
 * open at the same time. They share one transaction, which can be committed when no file is open.
 *
 *     writer_begin(writer, &file, order, first_ordinal, path, file_set);
 *     writer_put(writer, &file, batch) ...
 *     writer_finish(writer, &file, &facts, &outcome)      or writer_abandon(writer, &file)
 *     ... more files ...
 *     writer_commit(writer);
 *
 * If a function fails, the store itself is at fault: everything not committed is rolled back, and only
 * writer_free may be called.
 */
struct writer *writer_new(struct store *store, struct error *error);
void writer_free(struct writer *writer); /* rolls back what is not committed */

/* A file that is being written; writer_finish and writer_abandon also release it. */
struct writer_file {
    struct insert_target target;
    char *path;
    char *file_set;
    int continues; /* its records belong to a stored file */
};

void writer_file_release(struct writer_file *file);

/*
 * Begins a file. `order` counts the files of this writer from 0; file ids follow it, whatever the order in
 * which the files arrive. Both texts are copied. For pipes both are "-", and the writer gives them a file set
 * of its own. A file may be written in several parts at the same time: each part has its own struct
 * writer_file, the order of the file, and a first_ordinal that keeps its records apart from those of the
 * other parts. One part is finished or abandoned for all; the others are only released.
 */
int writer_begin(struct writer *writer, struct writer_file *file, int64_t order, int64_t first_ordinal,
                 const char *path, const char *file_set, struct error *error);

/*
 * What was begun is more of the stored file `file_id`. Its records from number `first_ordinal` on are removed
 * unless that is 0; the others stay. Finish such a file with facts.continues.
 */
int writer_continue(struct writer *writer, struct writer_file *file, int64_t file_id, int64_t first_ordinal,
                    struct error *error);

int writer_put(struct writer *writer, struct writer_file *file, const struct batch *batch,
               struct error *error);

/*
 * Writes rows of another store instead of a batch. 1, with `error` set: that store is at fault and the file
 * must be abandoned.
 */
int writer_unload(struct writer *writer, struct writer_file *file, struct unload *load, struct error *error);

struct writer_facts {
    const char *dialect;
    const char *digest;
    const char *unpacked_digest; /* digest of the decompressed bytes; NULL: unknown */
    uint64_t bytes;
    uint64_t unpacked_bytes;
    int64_t events;
    int64_t modified_ns; /* last modification, since the epoch; 0: unknown */
    const char *reader;  /* name of the format that read the file; NULL: unknown */
    int64_t reader_version;
    const struct ledger *ledger;
    int force;       /* replace a stored file with the same content; without it the new one is dropped */
    int is_open;     /* the file is still being written, or its writer was killed */
    int has_moved;   /* replace a file with the same content that an earlier writer stored: its directory no
                        longer contains it */
    int is_snapshot; /* keep what was stored earlier from the same path */
    int continues;   /* the rows belong to a stored file (writer_continue), and these facts replace its own */
    int by_reader;   /* replace a file with the same content that an earlier version of its reader read */
};

enum writer_outcome { WRITER_INGESTED, WRITER_OPEN, WRITER_PARTIAL, WRITER_UNCHANGED };

/*
 * Completes a file, which then replaces what was stored from the same path. WRITER_UNCHANGED: the store has
 * the same content already, compressed or not, and nothing of the new file is kept.
 */
int writer_finish(struct writer *writer, struct writer_file *file, const struct writer_facts *facts,
                  enum writer_outcome *outcome, struct error *error);

/* Drops everything that was written of the file. */
int writer_abandon(struct writer *writer, struct writer_file *file, struct error *error);

/* Whether the transaction is large or old enough to be committed soon. */
int writer_is_due(const struct writer *writer);

/* Commits; no file may be open. Pauses briefly so that other processes get access to the store. */
int writer_commit(struct writer *writer, struct error *error);

/*
 * Takes the events and notes of one file from a reader (its two functions fit a format_sink) and turns them
 * into batches of rows. It does not use the store, so it may run in any thread.
 */
struct intake {
    struct batch_builder builder;
    struct ledger ledger;
    struct batch *batch; /* the batch that is being filled */
    int failed;          /* this code failed, so a failure of the reader is not the fault of the file */
    void *context;
    /* Takes away the full batch, its operations packed, and sets *batch to an empty one. */
    int (*full)(void *context, struct batch **batch, struct error *error);
};

/* `batch` must be empty. It stays the caller's. */
void intake_init(struct intake *intake, struct batch *batch,
                 int (*full)(void *context, struct batch **batch, struct error *error), void *context);
void intake_release(struct intake *intake);

/* Ends the file and hands on the last batch. */
int intake_end(struct intake *intake, struct error *error);

int intake_event(void *intake, const struct event *event, struct error *error);
int intake_note(void *intake, const char *reason, int damage, uint64_t offset, const char *detail,
                size_t detail_length, struct error *error);

/* -------------------- insert.c -------------------- */

/*
 * Packs the batch's operations and samples of nodes into blocks and empties their lists. Call it before the
 * batch is written. On -1 (out of memory) the batch can only be released.
 */
int batch_pack(struct batch_builder *builder, struct batch *batch, struct error *error);

/* -------------------- forget.c -------------------- */

/* A file that was removed. */
struct forgotten_file {
    int64_t id; /* former id */
    char *path; /* owned */
    char dialect[64];
    int64_t events;
    int64_t skipped;
    int64_t bytes;
};

struct forgotten {
    struct forgotten_file *files; /* owned; by run, then by path */
    size_t count;
    size_t capacity;
};

void forgotten_release(struct forgotten *forgotten);

/*
 * Removes runs: all files with records of these runs, the files that name no process of a run and are nearest
 * to them in the directory tree, and everything that came from these files. The tables must be joined;
 * afterwards they must be joined again. Runs in the caller's transaction. If one of these files also has
 * records of a run that is not in `runs`, nothing is removed and the error says so. The caller initialises
 * `forgotten`.
 */
int forget_runs(struct store *store, const int64_t *runs, size_t count, struct forgotten *forgotten,
                struct error *error);

/* -------------------- record_tables.c -------------------- */

/*
 * Statements over all record tables, generated from their description (lib/model/record.c). A table added
 * there takes part in all of them.
 */

/*
 * Prepares a statement from schemas/. Each marker comment in it is replaced by SQL for every table whose
 * records name a process:
 *
 *     processes of file ?1              UNION SELECT the processes named by the records of file ?1
 *     processes that file ?1 recorded   the same for the records as they were before a join changed them
 *     files of run ?1                   UNION SELECT the files with records of a process of run ?1
 *     and of no record                  AND process_id is not named by any record
 *     and without a run                 AND file_id is not a file whose records name a process of a run
 *
 * These markers stand for complete statements about the tables that joins change:
 *
 *     records go back                   restore the rows that a join removed or changed
 *     records of heard are kept         save these rows as they are now
 *     records of heard are moved        assign them to the process and member that tables heard and
 * heard_member give
 *
 * And about blocks of operations:
 *
 *     columns of a block                the columns of operation_block
 *
 * NULL on error.
 */
struct statement *record_tables_prepare(struct store *store, const char *sql, struct error *error);
/* Like record_tables_prepare, but runs the statements, which return no rows. */
int record_tables_execute(struct store *store, const char *sql, struct error *error);

/*
 * For each kind of record: its table, the saved rows and the joined rows; then the tables of the file itself.
 */
enum { REMOVAL_STATEMENTS = 3 * EVENT_TABLES + 3 };

/*
 * Prepares the DELETE statements for everything stored of file ?1; the file's own row is deleted last. The
 * first *record_count statements are those for its records; if ?2 is bound, they leave records with lower
 * numbers. The caller frees `count` statements, also after -1.
 */
int record_tables_removal(struct store *store, struct statement *statements[REMOVAL_STATEMENTS],
                          size_t *record_count, size_t *count, struct error *error);

/* Changes the id of file `from`, its records and what joins derived from them to `to`, an unused id. */
int record_tables_renumber(struct store *store, int64_t from, int64_t to, struct error *error);

/*
 * Assigns the records of process or member `from` (`whose` says which) to `to`. Call it before `from` is
 * removed.
 */
int record_tables_move(struct store *store, enum field_kind whose, int64_t from, int64_t to,
                       struct error *error);

/* -------------------- forget.c -------------------- */

/*
 * Removes files from the store. In one transaction of the caller: note and remove each file, and sweep once
 * at the end.
 */

struct removal {
    struct statement *note; /* owned, as are the other statements */
    struct statement *statements[REMOVAL_STATEMENTS];
    size_t record_count; /* of these, for records; they come first */
    size_t count;
};

int removal_init(struct removal *removal, struct store *store, struct error *error);
void removal_release(struct removal *removal);

/*
 * Marks the jobs that have records in the file, so that they are joined again. Call it before the file is
 * removed.
 */
int removal_note(struct removal *removal, int64_t file_id, struct error *error);

/* Removes everything that came from the file, and its own row. */
int removal_file(struct removal *removal, int64_t file_id, struct error *error);

/* Removes the records of the file from number `first_ordinal` on. */
int removal_records(struct removal *removal, int64_t file_id, int64_t first_ordinal, struct error *error);

/* Removes processes, communicators and members that no file refers to any more. */
int removal_sweep(struct store *store, struct error *error);

/*
 * A join merges the log of a process into its trace and keeps only the newest RAS dump; the rows that it
 * changes or removes are saved (schemas/store/018_recorded_again.sql). This puts them back, in the caller's
 * transaction, so that files can be added and removed and the tables joined again. 1: rows were restored, and
 * the tables are no longer joined; 0: there were none; -1: error.
 */
int recorded_restore(struct store *store, struct error *error);

/* -------------------- operations.c -------------------- */

struct stored_operation {
    int64_t id;
    int64_t member_id;
    int64_t instance_id;
    int64_t step;    /* -1: outside any step */
    const char *tag; /* tag in effect, from the record itself or from a range around it; NULL: none */
    /* The record; unknown values as in lib/model/event.h. Its `channels` stay packed, below. */
    struct operation operation;
    const void *kernel_channels; /* lib/model/pack.c; NULL: none */
    size_t kernel_channels_bytes;
    int64_t byte_offset; /* in the decompressed file */
};

/* `run_id` 0 means all runs. NULL on error. */
struct operation_cursor *operation_cursor_open(struct store *store, int64_t run_id, struct error *error);
void operation_cursor_close(struct operation_cursor *cursor); /* NULL is allowed */

/*
 * Restricts the cursor to operations of steps for which is_wanted returns true (step -1: outside any step).
 * Call it before the first operation_cursor_next. Blocks without such operations are not unpacked; if an
 * earlier cursor has read all of the run, they are not even read (known_blocks.c). `context` is borrowed
 * until the cursor is closed.
 */
typedef int (*operation_wanted)(const void *context, int64_t step);
void operation_cursor_choose(struct operation_cursor *cursor, operation_wanted is_wanted,
                             const void *context);

/* 1: the next operation, whose texts and bytes are borrowed until the next call; 0: no more; -1: error. */
int operation_cursor_next(struct operation_cursor *cursor, struct stored_operation *stored,
                          struct error *error);

/* -------------------- packed_table.c -------------------- */

/* Columns of operation_block: the operations of one member, packed as lib/model/event.h describes. */
#define NUMBERED(name, ...) OPERATION_##name,
enum operation_column {
    OPERATION_ORDINAL,
    PACKED_OPERATION(NUMBERED, NUMBERED, NUMBERED, NUMBERED) OPERATION_COLUMNS,
    OPERATION_COLUMNS_FIRST = OPERATION_KERNEL_CHANNELS + 1 /* number of columns in blocks of form 1 */
};
#undef NUMBERED

/* -------------------- operations.c -------------------- */

/*
 * Reads the operations or collectives of a run block by block, for callers that need all of them but only a
 * few columns. Ten times as fast as reading rows. The store must be joined.
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
    int64_t block_id; /* the id of a row is this plus its ordinal */
    int64_t owner_id; /* member (of instances: communicator) of all rows of the block */
    struct block_reader rows;
    struct block_reader joined; /* for operations: the results of the join for the same rows */
    int has_joined;
};

/* In ascending order of block ids. `run_id` 0 means all runs. Call scan_release whatever they return. */
int scan_operations(struct block_scan *scan, struct store *store, int64_t run_id, struct error *error);
int scan_instances(struct block_scan *scan, struct store *store, int64_t run_id, struct error *error);
void scan_release(struct block_scan *scan);

/* 1: the next block, with no column unpacked; 0: no more; -1: error. */
int scan_next(struct block_scan *scan, struct error *error);

/* Unpack columns of `rows` and of `joined`. */
int scan_columns(struct block_scan *scan, const int *columns, size_t count, struct error *error);
int scan_joined_columns(struct block_scan *scan, const int *columns, size_t count, struct error *error);

/*
 * Duration of an operation on the GPU in ns: as recorded, else device end minus device begin; `unknown` if
 * neither is known. The columns OPERATION_DURATION, OPERATION_DEVICE_BEGIN and OPERATION_DEVICE_END must be
 * unpacked.
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

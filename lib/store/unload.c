/*
 * Reads the files of a store and their rows back into batches, in order to write them into another store
 * (merge). Rows that a join changed are read as they were recorded.
 */

#include "base/base.h"
#include "model/model.h"
#include "store/records.h"
#include "store/sqlite.h"
#include "store/store.h"

#include "schemas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Approximate memory of the rows read at a time. */
#ifndef UNLOAD_BYTES
#define UNLOAD_BYTES (4 << 20)
#endif

enum sentence { IS_THERE, LEDGER, PROCESSES, COMMUNICATORS, MEMBERS, SENTENCES };

static const char *const sentences[SENTENCES] = {
    [IS_THERE] = schema_ingest_unload_is_there,   [LEDGER] = schema_ingest_unload_ledger,
    [PROCESSES] = schema_ingest_unload_processes, [COMMUNICATORS] = schema_ingest_unload_communicators,
    [MEMBERS] = schema_ingest_unload_members,
};

struct unloader {
    struct store *store;
    struct statement *statements[SENTENCES];
    struct statement *rows[EVENT_TABLES]; /* NULL: the table has no rows */
};

/* ---- files ---- */

static int read_file(struct stored_files *files, struct statement *row, struct error *error)
{
    if (array_reserve((void **)&files->items, &files->capacity, files->count + 1, sizeof *files->items))
        return error_no_memory(error);
    struct stored_file *file = &files->items[files->count++];
    *file = (struct stored_file){.id = statement_integer(row, 0),
                                 .bytes = statement_integer(row, 6),
                                 .unpacked_bytes = statement_integer(row, 7),
                                 .events = statement_integer(row, 9),
                                 .skipped = statement_integer(row, 10),
                                 .modified_ns = statement_integer(row, 11),
                                 .reader_version = statement_integer(row, 13)};
    const char *status = statement_text(row, 8);
    file->is_open = status && strcmp(status, "open") == 0;
    return statement_copy_text(row, 1, &file->path) || statement_copy_text(row, 2, &file->file_set) ||
                   statement_copy_text(row, 3, &file->dialect) ||
                   statement_copy_text(row, 4, &file->digest) ||
                   (!statement_is_null(row, 5) && statement_copy_text(row, 5, &file->unpacked_digest)) ||
                   (!statement_is_null(row, 12) && statement_copy_text(row, 12, &file->reader))
               ? error_no_memory(error)
               : 0;
}

int stored_files_read(struct stored_files *files, struct store *store, struct error *error)
{
    struct statement *row = store_prepare(store, schema_ingest_unload_files, error);
    int more = row ? 1 : -1;
    while (more == 1 && (more = statement_step(row, error)) == 1)
        if (read_file(files, row, error))
            more = -1;
    statement_free(row);
    return more;
}

void stored_files_release(struct stored_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(files->items[i].path);
        free(files->items[i].file_set);
        free(files->items[i].dialect);
        free(files->items[i].digest);
        free(files->items[i].unpacked_digest);
        free(files->items[i].reader);
    }
    free(files->items);
    *files = (struct stored_files){.items = NULL};
}

/* ---- statements ---- */

/*
 * Appends a query for the rows of file ?1 in a table, from id ?2 on, sorted by id. If `recorded` is not NULL,
 * rows in that table replace those with the same id.
 */
static int put_rows_query(struct buffer *sql, const struct record_table *table, const char *recorded)
{
    static const char of_file[] = "BETWEEN ?2 AND (?1 << 32) + 4294967295";
    const char *id = record_table_id(table);
    return buffer_append_text(sql, "SELECT ") || record_table_put_columns(table, sql) ||
           buffer_printf(sql, " FROM %s WHERE %s %s", table->name, id, of_file) ||
           (recorded &&
            (buffer_printf(sql, " AND %s NOT IN (SELECT %s FROM %s WHERE %s %s) UNION ALL SELECT ", id, id,
                           recorded, id, of_file) ||
             record_table_put_columns(table, sql) ||
             buffer_printf(sql, " FROM %s WHERE %s %s", recorded, id, of_file))) ||
           buffer_append_text(sql, " ORDER BY 1");
}

/* Whether a table has rows; -1 on error. */
static int has_rows(struct store *store, const char *table, struct error *error)
{
    char sql[96];
    snprintf(sql, sizeof sql, "SELECT 1 FROM %s LIMIT 1", table);
    struct statement *question = store_prepare(store, sql, error);
    int answer = question ? statement_step(question, error) : -1;
    statement_free(question);
    return answer;
}

/* A table without rows gets no statement. */
static int prepare_rows(struct unloader *unloader, enum event_kind kind, struct error *error)
{
    struct buffer sql = BUFFER_INIT;
    const char *recorded = record_tables[kind].kept;
    int is_recorded = recorded ? has_rows(unloader->store, recorded, error) : 0;
    int is_there = is_recorded ? is_recorded : has_rows(unloader->store, record_tables[kind].name, error);
    if (is_there <= 0)
        return is_there;
    if (put_rows_query(&sql, &record_tables[kind], is_recorded ? recorded : NULL))
        error_no_memory(error);
    else
        unloader->rows[kind] = store_prepare(unloader->store, sql.data, error);
    buffer_release(&sql);
    return unloader->rows[kind] ? 0 : -1;
}

struct unloader *unloader_new(struct store *store, struct error *error)
{
    struct unloader *unloader = calloc(1, sizeof *unloader);
    int failed = !unloader;
    if (!unloader) {
        error_no_memory(error);
        return NULL;
    }
    unloader->store = store;
    for (int i = 0; i < SENTENCES && !failed; i++)
        failed = !(unloader->statements[i] = record_tables_prepare(store, sentences[i], error));
    for (enum event_kind kind = 0; kind < EVENT_TABLES && !failed; kind++)
        failed = prepare_rows(unloader, kind, error);
    if (!failed)
        return unloader;
    unloader_free(unloader);
    return NULL;
}

void unloader_free(struct unloader *unloader)
{
    if (!unloader)
        return;
    for (int i = 0; i < SENTENCES; i++)
        statement_free(unloader->statements[i]);
    for (enum event_kind kind = 0; kind < EVENT_TABLES; kind++)
        statement_free(unloader->rows[kind]);
    free(unloader);
}

/* Runs one of the statements for a file and passes each row to `take`. */
static int ask(struct unloader *unloader, enum sentence sentence, int64_t file_id,
               int (*take)(void *context, struct statement *row, struct error *error), void *context,
               struct error *error)
{
    struct statement *row = unloader->statements[sentence];
    int more = statement_bind_integer(row, 1, file_id, error) ? -1 : 1;
    while (more == 1 && (more = statement_step(row, error)) == 1)
        if (take(context, row, error))
            more = -1;
    statement_reset(row);
    return more;
}

static int take_entry(void *context, struct statement *row, struct error *error)
{
    const char *reason = statement_text(row, 0), *example = statement_text(row, 4);
    struct ledger one = {.count = 0};
    if (ledger_note(&one, reason ? reason : "", statement_integer(row, 1) != 0,
                    (uint64_t)statement_integer(row, 3), example, example ? strlen(example) : 0, error))
        return -1;
    one.entries[0].count = statement_integer(row, 2);
    int failed = ledger_add(context, &one, error);
    ledger_release(&one);
    return failed;
}

/* ---- names ---- */

/* Ids of the store that is read, in ascending order; the index of an id is its number for the inserter. */
struct id_list {
    int64_t *items; /* owned */
    size_t count;
    size_t capacity;
};

/*
 * The rows of a part of a file, and the ids of the processes, communicators and members that they name, which
 * come with the first part.
 */
struct names {
    struct batch batch;
    struct id_list processes;
    struct id_list communicators;
    struct id_list members;
    enum event_kind kind; /* the table that is read next */
    int64_t from_id;      /* first id not read yet */
};

/* The index of an id; -1 if it is not in the list. */
static int64_t id_list_find(const struct id_list *list, int64_t id)
{
    return find_id(list->items, list->count, sizeof *list->items, 0, id);
}

static int append_id(struct id_list *list, int64_t id)
{
    if (array_reserve((void **)&list->items, &list->capacity, list->count + 1, sizeof *list->items))
        return -1;
    list->items[list->count++] = id;
    return 0;
}

static int take_process(void *context, struct statement *row, struct error *error)
{
    struct names *names = context;
    struct batch *batch = &names->batch;
    const char *host = statement_text(row, 1);
    if (append_id(&names->processes, statement_integer(row, 0)) ||
        array_reserve((void **)&batch->processes.items, &batch->processes.capacity,
                      batch->processes.count + 1, sizeof *batch->processes.items))
        return error_no_memory(error);
    struct batch_process *process = &batch->processes.items[batch->processes.count++];
    *process =
        (struct batch_process){.pid = statement_integer(row, 2), .started_ns = statement_integer(row, 3)};
    return rows_put_text(&batch->rows, host ? host : "", &process->host) ? error_no_memory(error) : 0;
}

static int take_communicator(void *context, struct statement *row, struct error *error)
{
    struct names *names = context;
    struct batch *batch = &names->batch;
    if (append_id(&names->communicators, statement_integer(row, 0)) ||
        array_reserve((void **)&batch->communicators.items, &batch->communicators.capacity,
                      batch->communicators.count + 1, sizeof *batch->communicators.items))
        return error_no_memory(error);
    struct batch_communicator *said = &batch->communicators.items[batch->communicators.count];
    int is_named = !statement_is_null(row, 7);
    *said = (struct batch_communicator){.number = (uint32_t)batch->communicators.count++,
                                        .hash = (uint64_t)statement_integer(row, is_named ? 7 : 1),
                                        .is_named = is_named,
                                        .size = statement_integer(row, 3),
                                        .node_count = statement_integer(row, 4)};
    return rows_put_text(&batch->rows, statement_text(row, 2), &said->name) ||
                   rows_put_text(&batch->rows, statement_text(row, 5), &said->members) ||
                   rows_put_text(&batch->rows, statement_text(row, 6), &said->description)
               ? error_no_memory(error)
               : 0;
}

static int take_member(void *context, struct statement *row, struct error *error)
{
    struct names *names = context;
    struct batch *batch = &names->batch;
    int64_t communicator = id_list_find(&names->communicators, statement_integer(row, 1));
    int64_t process = id_list_find(&names->processes, statement_integer(row, 2));
    if (communicator < 0 || process < 0)
        return error_set(error, "a member refers to a process or communicator that is not in this store");
    if (append_id(&names->members, statement_integer(row, 0)) ||
        array_reserve((void **)&batch->members.items, &batch->members.capacity, batch->members.count + 1,
                      sizeof *batch->members.items))
        return error_no_memory(error);
    batch->members.items[batch->members.count++] =
        (struct batch_member){.communicator = (uint32_t)communicator,
                              .process = (uint32_t)process,
                              .rank = statement_integer(row, 3)};
    return 0;
}

static int read_names(struct unloader *unloader, struct unload *load, struct error *error)
{
    return ask(unloader, LEDGER, load->file_id, take_entry, &load->ledger, error) ||
                   ask(unloader, PROCESSES, load->file_id, take_process, load->names, error) ||
                   ask(unloader, COMMUNICATORS, load->file_id, take_communicator, load->names, error) ||
                   ask(unloader, MEMBERS, load->file_id, take_member, load->names, error)
               ? -1
               : 0;
}

/* ---- rows ---- */

/* The file's number for an id; -1 if the id refers to nothing in the store. */
static int64_t number_of(const struct names *names, enum field_kind kind, int64_t id)
{
    switch (kind) {
    case FIELD_RECORD:
    case FIELD_OPERATION:
        return id & 0xffffffff;
    case FIELD_PROCESS:
        return id_list_find(&names->processes, id);
    case FIELD_MEMBER:
        return id_list_find(&names->members, id);
    default:
        return id;
    }
}

static int take_bytes(struct row *to, enum row_type type, const void *bytes, int length)
{
    struct buffer *all = &to->rows->bytes;
    struct span span;
    size_t at = all->length;
    int failed = rows_put_bytes(to->rows, at, length && buffer_append(all, bytes, (size_t)length), &span);
    return row_span(to, type, span) || failed;
}

static int take_cell(const struct names *names, enum field_kind kind, sqlite3_stmt *from, int column,
                     struct row *to, struct error *error)
{
    int type = sqlite3_column_type(from, column), failed = 0;
    int64_t number = type == SQLITE_INTEGER ? number_of(names, kind, sqlite3_column_int64(from, column)) : -1;
    if (kind <= FIELD_MEMBER && type != SQLITE_NULL && number < 0)
        return error_set(error, "table %s refers to a process that is not in this store",
                         record_tables[to->kind].name);
    if (type == SQLITE_INTEGER)
        row_integer(to, number);
    else if (type == SQLITE_FLOAT)
        row_real(to, sqlite3_column_double(from, column));
    else if (type == SQLITE_NULL)
        row_null(to);
    else if (type == SQLITE_BLOB)
        failed =
            take_bytes(to, ROW_BLOB, sqlite3_column_blob(from, column), sqlite3_column_bytes(from, column));
    else
        failed =
            take_bytes(to, ROW_TEXT, sqlite3_column_text(from, column), sqlite3_column_bytes(from, column));
    return failed ? error_no_memory(error) : 0;
}

/* Whether a join found the row's operation in another file (lib/join/foreign_proxies.c). */
static int is_placed(const struct record_table *table, sqlite3_stmt *row)
{
    for (int i = 0; i < table->field_count; i++)
        if (table->fields[i].kind == FIELD_OPERATION && sqlite3_column_type(row, i) == SQLITE_INTEGER)
            return sqlite3_column_int64(row, i) >> 32 != sqlite3_column_int64(row, 0) >> 32;
    return 0;
}

static int take_row(struct names *names, sqlite3_stmt *from, struct error *error)
{
    const struct record_table *table = &record_tables[names->kind];
    int placed = is_placed(table, from);
    struct row to;
    if (row_begin(&to, &names->batch.rows, names->kind))
        return error_no_memory(error);
    for (int i = 0; i < table->field_count; i++) {
        enum field_kind kind = table->fields[i].kind;
        if (placed && (kind == FIELD_OPERATION || kind == FIELD_MEMBER))
            row_null(&to);
        else if (take_cell(names, kind, from, i, &to, error))
            return -1;
    }
    row_end(&to);
    return 0;
}

/* Reads the rest of the current table, or as much of it as fits. */
static int read_table(struct unloader *unloader, struct unload *load, struct error *error)
{
    struct names *names = load->names;
    struct statement *row = unloader->rows[names->kind];
    if (!row)
        return 0;
    int more = statement_bind_integer(row, 1, load->file_id, error) ||
                       statement_bind_integer(row, 2, names->from_id, error)
                   ? -1
                   : 1;
    while (more == 1 && (more = statement_step(row, error)) == 1) {
        if (rows_size_bytes(&names->batch.rows) >= UNLOAD_BYTES) {
            names->from_id = statement_integer(row, 0);
            break;
        }
        if (take_row(names, row->handle, error))
            more = -1;
    }
    statement_reset(row);
    return more;
}

static int64_t first_id(int64_t file_id)
{
    return (int64_t)((uint64_t)file_id << 32);
}

static int read_rows(struct unloader *unloader, struct unload *load, struct error *error)
{
    struct names *names = load->names;
    while (names->kind < EVENT_TABLES) {
        int more = read_table(unloader, load, error);
        if (more)
            return more < 0 ? -1 : 0;
        names->kind++;
        names->from_id = first_id(load->file_id);
    }
    load->is_all = 1;
    return 0;
}

/* 1: the file is still there, unchanged; 0: it is not; -1: error. */
static int is_there(struct unloader *unloader, const struct unload *load, struct error *error)
{
    struct statement *row = unloader->statements[IS_THERE];
    int found = statement_bind_integer(row, 1, load->file_id, error) ||
                        statement_bind_text(row, 2, load->digest, error)
                    ? -1
                    : statement_step(row, error);
    statement_reset(row);
    return found == 0 ? (error_set(error, "it was modified while it was merged"), 0) : found;
}

/* Reads some rows in one transaction, so that concurrent writers do not matter. */
static int read_some(struct unloader *unloader, struct unload *load, int is_first, struct error *error)
{
    if (store_execute(unloader->store, "BEGIN", error))
        return -1;
    int failed = is_there(unloader, load, error) != 1 || (is_first && read_names(unloader, load, error)) ||
                 read_rows(unloader, load, error);
    store_rollback(unloader->store);
    return failed ? -1 : 0;
}

static void forget_names(struct names *names)
{
    batch_clear(&names->batch);
    names->processes.count = names->communicators.count = names->members.count = 0;
}

/* Keeps the memory of an earlier file for reuse. */
static int begin_load(struct unload *load)
{
    if (!load->names && (load->names = calloc(1, sizeof *load->names)))
        batch_init(&load->names->batch);
    if (!load->names)
        return -1;
    forget_names(load->names);
    ledger_release(&load->ledger);
    load->is_all = 0;
    load->bytes = 0;
    return 0;
}

int unloader_begin(struct unloader *unloader, struct unload *load, int64_t file_id, const char *digest,
                   struct error *error)
{
    if (begin_load(load))
        return error_no_memory(error);
    load->file_id = file_id;
    load->digest = digest;
    load->names->kind = 0;
    load->names->from_id = first_id(file_id);
    return read_some(unloader, load, 1, error);
}

int unloader_more(struct unloader *unloader, struct unload *load, struct error *error)
{
    batch_clear(&load->names->batch);
    return read_some(unloader, load, 0, error);
}

int unload_put(struct unload *load, struct inserter *inserter, struct insert_target *target,
               struct error *error)
{
    const struct batch *batch = &load->names->batch;
    if (inserter_put(inserter, target, batch, error))
        /* Rows that violate a constraint are the fault of the store that they come from. */
        return (sqlite3_errcode(inserter->store->handle) & 0xff) == SQLITE_CONSTRAINT ? 1 : -1;
    load->bytes += batch_size_bytes(batch);
    return 0;
}

void unload_release(struct unload *load)
{
    if (load->names) {
        batch_release(&load->names->batch);
        free(load->names->processes.items);
        free(load->names->communicators.items);
        free(load->names->members.items);
    }
    free(load->names);
    ledger_release(&load->ledger);
    *load = (struct unload){.file_id = 0};
}

#include "store/plain_file.h"

#include "base/buffer.h"
#include "base/escape.h"
#include "schemas.h"
#include "store/descriptor_file.h"
#include "store/views.h"

#include <stdlib.h>
#include <string.h>

struct plain_file {
    struct store store; /* the connection; no store in the sense of store.h */
    struct descriptor_file file;
};

static int open_file(struct plain_file *file, int descriptor, struct error *error)
{
    struct store *store = &file->store;
    if (descriptor_file_init(&file->file, descriptor) != SQLITE_OK)
        return error_no_memory(error);
    int code =
        sqlite3_open_v2("file", &store->handle,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, file->file.name);
    if (code != SQLITE_OK)
        return store->handle ? store_error(store, error, "cannot open it") : error_no_memory(error);
    sqlite3_extended_result_codes(store->handle, 1);
    return store_execute(store, schema_export_plain_begin, error);
}

struct plain_file *plain_file_open(int descriptor, struct error *error)
{
    struct plain_file *file = calloc(1, sizeof *file);
    if (!file) {
        error_no_memory(error);
        return NULL;
    }
    if (open_file(file, descriptor, error)) {
        plain_file_discard(file);
        return NULL;
    }
    return file;
}

void plain_file_discard(struct plain_file *file)
{
    if (!file)
        return;
    sqlite3_close_v2(file->store.handle);
    descriptor_file_release(&file->file);
    free(file);
}

int plain_file_close(struct plain_file *file, struct error *error)
{
    int outcome = store_execute(&file->store, schema_export_plain_end, error);
    if (outcome == 0 && sqlite3_close(file->store.handle) != SQLITE_OK)
        outcome = store_error(&file->store, error, "cannot close it");
    else if (outcome == 0)
        file->store.handle = NULL;
    plain_file_discard(file);
    return outcome;
}

static int run(struct plain_file *file, struct buffer *sql, int failed, struct error *error)
{
    int outcome = failed ? error_no_memory(error) : store_execute(&file->store, sql->data, error);
    buffer_release(sql);
    return outcome;
}

static const char *type_name(enum cell_type type)
{
    return type == CELL_INTEGER ? "INTEGER" : type == CELL_REAL ? "REAL" : "TEXT";
}

static int make_table(struct plain_file *file, const struct view *view, struct error *error)
{
    struct buffer sql = BUFFER_INIT;
    int failed = buffer_printf(&sql, "CREATE TABLE \"%s\" (", view->name);
    for (size_t i = 0; i < view->column_count && !failed; i++)
        failed =
            buffer_printf(&sql, "%s\"%s\" %s%s", i ? ", " : "", view->columns[i].name,
                          type_name(view->columns[i].type), i == 0 && view->has_number ? " PRIMARY KEY" : "");
    return run(file, &sql, failed || buffer_append_byte(&sql, ')'), error);
}

static int make_indexes(struct plain_file *file, const struct view *view, struct error *error)
{
    for (int i = 0; view->keys[i]; i++) {
        struct buffer sql = BUFFER_INIT;
        int failed = buffer_printf(&sql, "CREATE INDEX \"%s_%d\" ON \"%s\" (%s)", view->name, i + 1,
                                   view->name, view->keys[i]);
        if (run(file, &sql, failed, error))
            return -1;
    }
    return 0;
}

static int describe(struct plain_file *file, const struct view *view, const struct column *column,
                    struct error *error)
{
    struct statement *statement = store_prepare(&file->store, schema_export_plain_describe, error);
    int failed = !statement || statement_bind_text(statement, 1, view->name, error) ||
                 statement_bind_text(statement, 2, column ? column->name : NULL, error) ||
                 statement_bind_text(statement, 3, column ? column->unit : NULL, error) ||
                 statement_bind_text(statement, 4, column ? column->description : view->description, error) ||
                 statement_step(statement, error) < 0;
    statement_free(statement);
    return failed ? -1 : 0;
}

static int describe_all(struct plain_file *file, const struct view *view, struct error *error)
{
    int failed = describe(file, view, NULL, error);
    for (size_t i = 0; i < view->column_count && !failed; i++)
        failed = describe(file, view, &view->columns[i], error);
    return failed;
}

static struct statement *prepare_insert(struct plain_file *file, const struct view *view, struct error *error)
{
    struct buffer sql = BUFFER_INIT;
    int failed = buffer_printf(&sql, "INSERT INTO \"%s\" VALUES (", view->name);
    for (size_t i = 0; i < view->column_count && !failed; i++)
        failed = buffer_append_text(&sql, i ? ", ?" : "?");
    struct statement *insert = NULL;
    if (failed || buffer_append_byte(&sql, ')'))
        error_no_memory(error);
    else
        insert = store_prepare(&file->store, sql.data, error);
    buffer_release(&sql);
    return insert;
}

/* Others refuse text that is no UTF-8, as a file's name may be. */
static int copy_text(struct statement *rows, struct statement *insert, int column, struct error *error)
{
    size_t length;
    struct buffer text = BUFFER_INIT;
    const char *bytes = statement_bytes(rows, column, &length);
    int failed = !bytes || escape_utf8(&text, bytes, length)
                     ? error_no_memory(error)
                     : statement_bind_text(insert, column + 1, text.data, error);
    buffer_release(&text);
    return failed;
}

static int is_odd_text(struct statement *rows, int column)
{
    size_t length;
    if (sqlite3_column_type(rows->handle, column) != SQLITE_TEXT)
        return 0;
    const char *bytes = statement_bytes(rows, column, &length);
    return !bytes || !escape_is_utf8(bytes, length);
}

static int copy_row(struct statement *rows, struct statement *insert, int columns, struct error *error)
{
    for (int i = 0; i < columns; i++) {
        if (is_odd_text(rows, i)) {
            if (copy_text(rows, insert, i, error))
                return -1;
        } else if (sqlite3_bind_value(insert->handle, i + 1, sqlite3_column_value(rows->handle, i)) !=
                   SQLITE_OK) {
            return store_error(insert->store, error, "cannot bind a value");
        }
    }
    return statement_step(insert, error) < 0 ? -1 : 0;
}

static int copy_rows(struct plain_file *file, const struct view *view, struct statement *rows, int64_t *count,
                     struct error *error)
{
    struct statement *insert = prepare_insert(file, view, error);
    int more = insert ? 1 : -1;
    while (more == 1 && (more = statement_step(rows, error)) == 1)
        if (copy_row(rows, insert, (int)view->column_count, error))
            more = -1;
        else
            ++*count;
    statement_free(insert);
    return more;
}

int plain_file_add(struct plain_file *file, const struct view *view, struct statement *rows, int64_t *count,
                   struct error *error)
{
    *count = 0;
    return make_table(file, view, error) || copy_rows(file, view, rows, count, error) ||
                   make_indexes(file, view, error) || describe_all(file, view, error)
               ? -1
               : 0;
}

/*
 * Prepared statements: binding of parameters, execution, reading of columns. Wraps SQLite, which nothing
 * outside lib/store calls.
 */

#include "base/base.h"
#include "model/model.h"
#include "store/internal.h"
#include "store/sqlite.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

struct statement *store_prepare(struct store *store, const char *sql, struct error *error)
{
    struct statement *statement = calloc(1, sizeof *statement);
    if (!statement) {
        error_no_memory(error);
        return NULL;
    }
    statement->store = store;
    if (sqlite3_prepare_v3(store->handle, sql, -1, 0, &statement->handle, NULL) != SQLITE_OK) {
        store_error(store, error, "cannot prepare '%.60s'", sql);
        free(statement);
        return NULL;
    }
    return statement;
}

void statement_free(struct statement *statement)
{
    if (!statement)
        return;
    sqlite3_finalize(statement->handle);
    free(statement);
}

static int bound(struct statement *statement, int code, struct error *error)
{
    if (code == SQLITE_OK)
        return 0;
    return store_error(statement->store, error, "cannot bind a value to '%.60s'",
                       sqlite3_sql(statement->handle));
}

int statement_bind_integer(struct statement *statement, int parameter, int64_t value, struct error *error)
{
    return bound(statement, sqlite3_bind_int64(statement->handle, parameter, value), error);
}

int statement_bind_real(struct statement *statement, int parameter, double value, struct error *error)
{
    return bound(statement, sqlite3_bind_double(statement->handle, parameter, value), error);
}

struct statement *store_prepare_for(struct store *store, const char *sql, int64_t run_id, struct error *error)
{
    struct statement *statement = store_prepare(store, sql, error);
    if (!statement || !run_id || !statement_bind_integer(statement, 1, run_id, error))
        return statement;
    statement_free(statement);
    return NULL;
}

int statement_bind_text(struct statement *statement, int parameter, const char *text, struct error *error)
{
    if (!text)
        return statement_bind_null(statement, parameter, error);
    return bound(
        statement,
        sqlite3_bind_text64(statement->handle, parameter, text, strlen(text), SQLITE_TRANSIENT, SQLITE_UTF8),
        error);
}

int statement_bind_blob(struct statement *statement, int parameter, const void *bytes, size_t length,
                        struct error *error)
{
    return bound(
        statement,
        sqlite3_bind_blob64(statement->handle, parameter, length ? bytes : "", length, SQLITE_TRANSIENT),
        error);
}

int statement_bind_null(struct statement *statement, int parameter, struct error *error)
{
    return bound(statement, sqlite3_bind_null(statement->handle, parameter), error);
}

int statement_step(struct statement *statement, struct error *error)
{
    int code = sqlite3_step(statement->handle);
    if (code == SQLITE_ROW)
        return 1;
    if (code != SQLITE_DONE)
        store_error(statement->store, error, "'%.60s' failed", sqlite3_sql(statement->handle));
    sqlite3_reset(statement->handle);
    return code == SQLITE_DONE ? 0 : -1;
}

void statement_reset(struct statement *statement)
{
    sqlite3_reset(statement->handle);
}

int statement_is_null(struct statement *statement, int column)
{
    return sqlite3_column_type(statement->handle, column) == SQLITE_NULL;
}

int64_t statement_integer(struct statement *statement, int column)
{
    return sqlite3_column_int64(statement->handle, column);
}

int64_t statement_integer_or(struct statement *statement, int column, int64_t absent)
{
    return statement_is_null(statement, column) ? absent : statement_integer(statement, column);
}

double statement_real(struct statement *statement, int column)
{
    return sqlite3_column_double(statement->handle, column);
}

const char *statement_text(struct statement *statement, int column)
{
    return (const char *)sqlite3_column_text(statement->handle, column);
}

int statement_copy_text(struct statement *row, int column, char **text)
{
    const char *value = statement_text(row, column);
    *text = strdup(value ? value : "");
    return *text ? 0 : -1;
}

enum cell_type statement_type(struct statement *statement, int column)
{
    switch (sqlite3_column_type(statement->handle, column)) {
    case SQLITE_NULL:
        return CELL_NULL;
    case SQLITE_INTEGER:
        return CELL_INTEGER;
    case SQLITE_FLOAT:
        return CELL_REAL;
    default:
        return CELL_TEXT;
    }
}

const char *statement_bytes(struct statement *statement, int column, size_t *length)
{
    const char *text = statement_text(statement, column);
    *length = (size_t)sqlite3_column_bytes(statement->handle, column);
    return text;
}

const void *statement_blob(struct statement *statement, int column, size_t *length)
{
    const void *bytes = sqlite3_column_blob(statement->handle, column);
    *length = (size_t)sqlite3_column_bytes(statement->handle, column);
    return bytes;
}

/*
 * Runs untrusted SQL (`ncclprof query`): an authorizer allows only reading, and limits bound time, memory and
 * the size of values.
 */

#include "base/base.h"
#include "model/model.h"
#include "store/internal.h"
#include "store/sqlite.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* SQLite instructions between two checks of the time limit: some milliseconds. */
enum { INSTRUCTIONS_PER_CHECK = 20000 };

/* Limits of single values, so that no single function call uses much memory or time. */
enum { LONGEST_VALUE_BYTES = 64 << 20, LONGEST_PATTERN_BYTES = 256, LONGEST_SQL_BYTES = 1 << 20 };

/* Limit of SQLite's total memory while an untrusted query runs. */
static const int64_t HEAP_BYTES = INT64_C(1) << 30;

struct query {
    struct store *store;
    sqlite3_stmt *handle;
    struct query_limits limits;
    struct timespec begun;
    int is_late;
    int is_stopped;
    struct table head;
    char **names;
    struct cell *cells;
    struct buffer *blobs; /* one for each column: the text form of a blob */
};

static int allow(void *context, int action, const char *first, const char *second, const char *database,
                 const char *trigger)
{
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        /* The first loads code, the second reveals addresses of code. */
        return sqlite3_stricmp(second, "load_extension") == 0 ||
                       sqlite3_stricmp(second, "fts3_tokenizer") == 0
                   ? SQLITE_DENY
                   : SQLITE_OK;
    default:
        return ((const struct store *)context)->declares_table ? SQLITE_OK : SQLITE_DENY;
    }
}

static int look_at_clock(void *context)
{
    struct query *query = context;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t passed_ms =
        ((int64_t)now.tv_sec - query->begun.tv_sec) * 1000 + (now.tv_nsec - query->begun.tv_nsec) / 1000000;
    query->is_late = query->limits.seconds && passed_ms >= query->limits.seconds * 1000;
    query->is_stopped = query->limits.wanted && query->limits.wanted(NULL);
    return query->is_late || query->is_stopped;
}

static void guard(struct query *query)
{
    sqlite3 *handle = query->store->handle;
    sqlite3_set_authorizer(handle, allow, query->store);
    sqlite3_progress_handler(handle, INSTRUCTIONS_PER_CHECK, look_at_clock, query);
    sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, LONGEST_VALUE_BYTES);
    sqlite3_limit(handle, SQLITE_LIMIT_SQL_LENGTH, LONGEST_SQL_BYTES);
    sqlite3_limit(handle, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, LONGEST_PATTERN_BYTES);
    sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW,
                      query->limits.allows_views || query->store->reads_views, (int *)NULL);
    sqlite3_hard_heap_limit64(HEAP_BYTES);
    clock_gettime(CLOCK_MONOTONIC, &query->begun);
}

static int fail(struct query *query, struct error *error)
{
    if (query->is_stopped)
        return error_set(error, "the query was interrupted");
    if (query->is_late)
        return error_set(error, "the query took longer than %lld s and was stopped",
                         (long long)query->limits.seconds);
    int code = sqlite3_errcode(query->store->handle) & 0xff;
    if (code == SQLITE_AUTH)
        return error_set(error, "the query was refused: queries may only read (%s)",
                         sqlite3_errmsg(query->store->handle));
    if (code == SQLITE_NOMEM)
        return error_set(error, "the query needs more than 1 GiB of memory, which is the limit");
    return store_error(query->store, error, "the query failed");
}

/* Only blanks and comments may follow the statement. */
static int check_rest(struct query *query, const char *rest, struct error *error)
{
    while (*rest) {
        sqlite3_stmt *more = NULL;
        if (sqlite3_prepare_v2(query->store->handle, rest, -1, &more, &rest) != SQLITE_OK)
            return fail(query, error);
        sqlite3_finalize(more);
        if (more)
            return error_set(error, "only one statement per query is allowed");
    }
    return 0;
}

/* Prepares the first statement of *sql and moves *sql past it. The handle is NULL if no statement is left. */
static int prepare(struct query *query, const char **sql, struct error *error)
{
    while (**sql && !query->handle)
        if (sqlite3_prepare_v2(query->store->handle, *sql, -1, &query->handle, sql) != SQLITE_OK)
            return fail(query, error);
    if (query->handle && (!sqlite3_stmt_readonly(query->handle) || sqlite3_column_count(query->handle) == 0))
        return error_set(error, "the query was refused: queries may only read");
    return 0;
}

static int is_taken(const struct query *query, const char *name)
{
    for (size_t i = 0; i < query->head.column_count; i++)
        if (strcmp(query->names[i], name) == 0)
            return 1;
    return 0;
}

/* The name of column `at`, made different from all earlier names. NULL if memory is out. */
static char *unique_name(const struct query *query, int at)
{
    const char *given = sqlite3_column_name(query->handle, at);
    char *name = given ? strdup(given) : NULL;
    for (int suffix = 2; name && is_taken(query, name); suffix++) {
        free(name);
        if (asprintf(&name, "%s_%d", given, suffix) < 0)
            return NULL;
    }
    return name;
}

static int make_head(struct query *query, struct error *error)
{
    int count = sqlite3_column_count(query->handle);
    query->names = array_new((size_t)count, sizeof *query->names);
    query->cells = array_new((size_t)count, sizeof *query->cells);
    query->blobs = array_new((size_t)count, sizeof *query->blobs);
    if (!query->names || !query->cells || !query->blobs)
        return error_no_memory(error);
    for (int i = 0; i < count; i++) {
        query->names[i] = unique_name(query, i);
        if (!query->names[i])
            return error_no_memory(error);
        struct column column = {.name = query->names[i], .decimals = -1};
        if (table_add_column(&query->head, column, error))
            return -1;
    }
    return 0;
}

static struct query *begin(struct store *store, const struct query_limits *limits, struct error *error)
{
    struct query *query = calloc(1, sizeof *query);
    if (!query) {
        error_no_memory(error);
        return NULL;
    }
    query->store = store;
    query->limits = *limits;
    table_init(&query->head, "query");
    guard(query);
    return query;
}

struct query *query_open_first(struct store *store, const char **sql, const struct query_limits *limits,
                               int *is_end, struct error *error)
{
    struct query *query = begin(store, limits, error);
    *is_end = 0;
    if (!query)
        return NULL;
    int failed = prepare(query, sql, error);
    *is_end = !failed && !query->handle;
    if (failed || *is_end || make_head(query, error)) {
        query_close(query);
        return NULL;
    }
    return query;
}

struct query *query_open(struct store *store, const char *sql, const struct query_limits *limits,
                         struct error *error)
{
    int is_end;
    struct query *query = query_open_first(store, &sql, limits, &is_end, error);
    if (is_end)
        error_set(error, "the query contains no SQL statement");
    if (query && check_rest(query, sql, error)) {
        query_close(query);
        return NULL;
    }
    return query;
}

void query_close(struct query *query)
{
    if (!query)
        return;
    int count = query->handle ? sqlite3_column_count(query->handle) : 0;
    for (int i = 0; i < count && query->names; i++)
        free(query->names[i]);
    for (int i = 0; i < count && query->blobs; i++)
        buffer_release(&query->blobs[i]);
    free(query->names);
    free(query->cells);
    free(query->blobs);
    sqlite3_finalize(query->handle);
    sqlite3_progress_handler(query->store->handle, 0, NULL, NULL);
    sqlite3_set_authorizer(query->store->handle, NULL, NULL);
    sqlite3_db_config(query->store->handle, SQLITE_DBCONFIG_ENABLE_VIEW, query->store->reads_views,
                      (int *)NULL);
    sqlite3_hard_heap_limit64(0);
    table_release(&query->head);
    free(query);
}

struct table *query_head(struct query *query)
{
    return &query->head;
}

int query_stopped(const struct query *query)
{
    return query->is_stopped;
}

static int blob_text(struct query *query, int column, struct error *error)
{
    struct buffer *text = &query->blobs[column];
    const unsigned char *bytes = sqlite3_column_blob(query->handle, column);
    int length = sqlite3_column_bytes(query->handle, column);
    buffer_clear(text);
    int failed = buffer_reserve(text, (size_t)length * 2 + 3) || buffer_append_text(text, "x'");
    for (int i = 0; i < length && !failed; i++) {
        static const char digits[] = "0123456789abcdef";
        failed = buffer_append_byte(text, digits[bytes[i] >> 4]) ||
                 buffer_append_byte(text, digits[bytes[i] & 15]);
    }
    if (failed || buffer_append_byte(text, '\''))
        return error_no_memory(error);
    query->cells[column] = (struct cell){.type = CELL_TEXT, .text = text->data};
    return 0;
}

static int read_cell(struct query *query, int column, struct error *error)
{
    struct cell *cell = &query->cells[column];
    *cell = (struct cell){.type = CELL_NULL};
    switch (sqlite3_column_type(query->handle, column)) {
    case SQLITE_INTEGER:
        *cell = (struct cell){.type = CELL_INTEGER, .integer = sqlite3_column_int64(query->handle, column)};
        return 0;
    case SQLITE_FLOAT:
        *cell = (struct cell){.type = CELL_REAL, .real = sqlite3_column_double(query->handle, column)};
        return 0;
    case SQLITE_TEXT: {
        const unsigned char *text = sqlite3_column_text(query->handle, column);
        *cell = (struct cell){.type = CELL_TEXT, .text = (char *)(uintptr_t)text};
        return text ? 0 : error_no_memory(error);
    }
    case SQLITE_BLOB:
        return blob_text(query, column, error);
    default:
        return 0;
    }
}

int query_next(struct query *query, const struct cell **cells, struct error *error)
{
    int code = sqlite3_step(query->handle);
    if (code == SQLITE_DONE)
        return 0;
    if (code != SQLITE_ROW)
        return fail(query, error);
    for (size_t i = 0; i < query->head.column_count; i++)
        if (read_cell(query, (int)i, error))
            return -1;
    *cells = query->cells;
    return 1;
}

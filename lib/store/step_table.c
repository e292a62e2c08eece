/*
 * The virtual table proxy_step: one row for each network step that the table proxy_operation holds packed. It
 * is read-only and need not be created: every connection that this library opens has it.
 *
 *     SELECT rank, direction, max(network_us) FROM proxy_step JOIN v_proxy_operation USING
 *         (proxy_operation_id) ...
 *
 * A scan reads proxy_operation by id. SQLite passes down equality of proxy_operation_id or operation_id, and
 * ranges of proxy_operation_id. There is no index by operation, which would cost more at each ingest than it
 * saves: the search is limited to the operation's file, whose number is part of both ids.
 */

#include "base/base.h"
#include "model/model.h"
#include "store/internal.h"
#include "store/sqlite.h"

#include <stdlib.h>
#include <string.h>

static const char declaration[] =
    "CREATE TABLE proxy_step ("
    "proxy_operation_id INTEGER, operation_id INTEGER, member_id INTEGER,"
    "direction INTEGER, channel INTEGER, peer INTEGER, step INTEGER,"
    "buffer_begin_ns INTEGER, buffer_end_ns INTEGER, buffer_us REAL,"
    "gpu_begin_ns INTEGER, gpu_end_ns INTEGER, gpu_us REAL,"
    "peer_begin_ns INTEGER, peer_end_ns INTEGER, peer_us REAL,"
    "network_begin_ns INTEGER, network_end_ns INTEGER, network_us REAL,"
    "flush_begin_ns INTEGER, flush_end_ns INTEGER, flush_us REAL)";

enum {
    COLUMN_ID,
    COLUMN_OPERATION,
    COLUMN_MEMBER,
    COLUMN_DIRECTION,
    COLUMN_CHANNEL,
    COLUMN_PEER,
    COLUMN_STEP,
    COLUMN_WAITS /* three columns for each wait, in the order of enum wait_kind */
};

/* Columns of the statement that a cursor reads: those before COLUMN_STEP, then these. */
enum { SOURCE_BASE = COLUMN_STEP, SOURCE_STEPS };

struct step_table {
    sqlite3_vtab base;
    sqlite3 *handle;
};

struct step_cursor {
    sqlite3_vtab_cursor base;
    sqlite3_stmt *source;
    struct unpack unpack;
    struct proxy_step step;
    sqlite3_int64 row;
    int at_end;
};

static int step_connect(sqlite3 *handle, void *context, int count, const char *const *words,
                        sqlite3_vtab **table, char **reason)
{
    struct store *store = context;
    store->declares_table = 1;
    int code = sqlite3_declare_vtab(handle, declaration);
    store->declares_table = 0;
    if (code == SQLITE_OK)
        code = sqlite3_vtab_config(handle, SQLITE_VTAB_INNOCUOUS);
    if (code != SQLITE_OK)
        return code;
    struct step_table *made = sqlite3_malloc(sizeof *made);
    if (!made)
        return SQLITE_NOMEM;
    *made = (struct step_table){.handle = handle};
    *table = &made->base;
    return SQLITE_OK;
}

static int step_disconnect(sqlite3_vtab *table)
{
    sqlite3_free(table);
    return SQLITE_OK;
}

static int step_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
    /* Several rows belong to one proxy operation, so their rowids are not ids. */
    int chosen = lookup_choose(info, (struct lookup_columns){.owner = COLUMN_OPERATION});
    double rows = chosen & LOOKUP_BY_ID ? 1e2 : chosen & LOOKUP_BY_OWNER ? 1e3 : chosen ? 1e6 : 1e8;
    info->estimatedRows = (sqlite3_int64)rows;
    info->estimatedCost = rows;
    return SQLITE_OK;
}

static int step_open(sqlite3_vtab *table, sqlite3_vtab_cursor **cursor)
{
    struct step_cursor *made = sqlite3_malloc(sizeof *made);
    if (!made)
        return SQLITE_NOMEM;
    memset(made, 0, sizeof *made);
    *cursor = &made->base;
    return SQLITE_OK;
}

static int step_close(sqlite3_vtab_cursor *base)
{
    struct step_cursor *cursor = (struct step_cursor *)base;
    sqlite3_finalize(cursor->source);
    sqlite3_free(cursor);
    return SQLITE_OK;
}

/* Moves to the next proxy operation that has steps. */
static int next_operation(struct step_cursor *cursor)
{
    for (;;) {
        int code = sqlite3_step(cursor->source);
        if (code != SQLITE_ROW) {
            cursor->at_end = 1;
            return code == SQLITE_DONE ? SQLITE_OK : code;
        }
        const void *blob = sqlite3_column_blob(cursor->source, SOURCE_STEPS);
        size_t length = (size_t)sqlite3_column_bytes(cursor->source, SOURCE_STEPS);
        if (!blob)
            continue;
        if (unpack_steps(&cursor->unpack, blob, length, sqlite3_column_int64(cursor->source, SOURCE_BASE)))
            return SQLITE_CORRUPT_VTAB;
        return SQLITE_OK;
    }
}

static int step_next(sqlite3_vtab_cursor *base)
{
    struct step_cursor *cursor = (struct step_cursor *)base;
    cursor->row++;
    while (!cursor->at_end) {
        int more = unpack_next_step(&cursor->unpack, &cursor->step);
        if (more > 0)
            return SQLITE_OK;
        int code = more < 0 ? SQLITE_CORRUPT_VTAB : next_operation(cursor);
        if (code != SQLITE_OK)
            return code;
    }
    return SQLITE_OK;
}

static int step_filter(sqlite3_vtab_cursor *base, int plan, const char *name, int count,
                       sqlite3_value **values)
{
    struct step_cursor *cursor = (struct step_cursor *)base;
    sqlite3_finalize(cursor->source);
    cursor->source = NULL;
    cursor->at_end = 0;
    cursor->row = 0;
    char *sql = sqlite3_mprintf(
        "SELECT proxy_operation_id, operation_id, member_id, direction, channel, peer,"
        " coalesce(progress_begin_ns, 0), steps FROM proxy_operation"
        " WHERE steps IS NOT NULL%s%s%s%s ORDER BY proxy_operation_id",
        plan & LOOKUP_BY_ID ? " AND proxy_operation_id = ?1" : "",
        plan & LOOKUP_FROM_ID ? " AND proxy_operation_id >= ?2" : "",
        plan & LOOKUP_UP_TO_ID ? " AND proxy_operation_id <= ?3" : "",
        plan & LOOKUP_BY_OWNER
            ? " AND operation_id = ?4 AND proxy_operation_id BETWEEN ?4 >> 32 << 32 AND ?4 | 4294967295"
            : "");
    if (!sql)
        return SQLITE_NOMEM;
    int code = sqlite3_prepare_v2(((struct step_table *)base->pVtab)->handle, sql, -1, &cursor->source, NULL);
    sqlite3_free(sql);
    if (code == SQLITE_OK)
        code = lookup_bind(cursor->source, plan, count, values);
    if (code == SQLITE_OK)
        code = next_operation(cursor);
    return code == SQLITE_OK ? step_next(base) : code;
}

static int step_eof(sqlite3_vtab_cursor *base)
{
    return ((struct step_cursor *)base)->at_end;
}

static void put_time(sqlite3_context *context, int64_t at_ns)
{
    if (at_ns != TIME_UNKNOWN)
        sqlite3_result_int64(context, at_ns);
}

static void put_wait(sqlite3_context *context, const struct interval_ns *wait, int part)
{
    if (part == 0)
        put_time(context, wait->begin_ns);
    else if (part == 1)
        put_time(context, wait->end_ns);
    else if (wait->begin_ns != TIME_UNKNOWN && wait->end_ns != TIME_UNKNOWN)
        sqlite3_result_double(context, ((double)wait->end_ns - (double)wait->begin_ns) / 1e3);
}

static int step_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    struct step_cursor *cursor = (struct step_cursor *)base;
    if (column < COLUMN_STEP)
        sqlite3_result_value(context, sqlite3_column_value(cursor->source, column));
    else if (column == COLUMN_STEP)
        sqlite3_result_int64(context, cursor->step.step);
    else
        put_wait(context, &cursor->step.wait[(column - COLUMN_WAITS) / 3], (column - COLUMN_WAITS) % 3);
    return SQLITE_OK;
}

static int step_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *row)
{
    *row = ((struct step_cursor *)base)->row;
    return SQLITE_OK;
}

/* Without xCreate the table is eponymous only: nobody can create another one in the file. */
static const sqlite3_module module = {
    .iVersion = 1,
    .xConnect = step_connect,
    .xBestIndex = step_best_index,
    .xDisconnect = step_disconnect,
    .xDestroy = step_disconnect,
    .xOpen = step_open,
    .xClose = step_close,
    .xFilter = step_filter,
    .xNext = step_next,
    .xEof = step_eof,
    .xColumn = step_column,
    .xRowid = step_rowid,
};

int step_table_register(struct store *store, struct error *error)
{
    if (sqlite3_create_module_v2(store->handle, "proxy_step", &module, store, NULL) != SQLITE_OK)
        return store_error(store, error, "cannot register table proxy_step");
    return 0;
}

/* The SQLite of the program that loads the extension. In the tool, where SQLite is linked, this is empty. */
SQLITE_EXTENSION_INIT1

static void tell_version(sqlite3_context *context, int count, sqlite3_value **values)
{
    sqlite3_result_text(context, NCCLPROF_VERSION, -1, SQLITE_STATIC);
}

/* The connection owns the store: the destructor of a function frees it. */
static int register_all(struct store *store, struct error *error)
{
    int code = sqlite3_create_function_v2(store->handle, "ncclprof_version", 0,
                                          SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, store,
                                          tell_version, NULL, NULL, free);
    if (code != SQLITE_OK)
        return error_set(error, "cannot register ncclprof_version: %s", sqlite3_errstr(code));
    return step_table_register(store, error) || packed_tables_register(store, error) ? -1 : 0;
}

int sqlite3_ncclprofviews_init(sqlite3 *handle, char **reason, const sqlite3_api_routines *routines)
{
    struct error error = ERROR_INIT;
    SQLITE_EXTENSION_INIT2(routines);
    struct store *store = calloc(1, sizeof *store);
    if (!store)
        return SQLITE_NOMEM;
    store->handle = handle;
    if (register_all(store, &error) == 0)
        return SQLITE_OK;
    *reason = sqlite3_mprintf("%s", error.cause[0]);
    return SQLITE_ERROR;
}

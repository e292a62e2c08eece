/*
 * Opens the SQLite database of another program, read-only, for the formats that read tables (lib/format). The
 * database is hostile input.
 */

#include "base/base.h"
#include "model/model.h"
#include "store/internal.h"
#include "store/store.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A row takes at least a pointer, its length, its number and a header. */
enum { ROW_BYTES = 5 };

/* SQLite instructions between two calls of `stopped`: some milliseconds. */
enum { INSTRUCTIONS_PER_CHECK = 20000 };

struct foreign {
    sqlite3 *handle;
    sqlite3_stmt *rows;
    struct foreign_tables tables;
    const char *table;          /* the only table that may be read; NULL: the list of tables */
    int place[FOREIGN_COLUMNS]; /* position of each requested column in the statement; -1: the table lacks it
                                 */
    size_t column_count;
    int64_t row_count;
    int64_t rows_most;
    int (*stopped)(void *context);
    void *context;
};

static int fail(const struct foreign *foreign, struct error *error)
{
    if ((sqlite3_errcode(foreign->handle) & 0xff) == SQLITE_NOMEM)
        return error_no_memory(error);
    if ((sqlite3_errcode(foreign->handle) & 0xff) == SQLITE_NOTADB)
        return error_set(error, "SQLite cannot read a compressed file; unpack it first");
    return error_set(error, "SQLite: %s", sqlite3_errmsg(foreign->handle));
}

/* Authorizer: allows reading the requested table, or the list of tables and columns; no functions. */
static int allow(void *context, int action, const char *first, const char *second, const char *database,
                 const char *trigger)
{
    const struct foreign *foreign = context;
    const char *wanted = foreign->table ? foreign->table : "sqlite_master";
    (void)second;
    (void)database;
    (void)trigger;
    if (action == SQLITE_SELECT || (action == SQLITE_PRAGMA && sqlite3_stricmp(first, "table_xinfo") == 0))
        return SQLITE_OK;
    return action == SQLITE_READ && sqlite3_stricmp(first, wanted) == 0 ? SQLITE_OK : SQLITE_DENY;
}

static int must_stop(void *context)
{
    const struct foreign *foreign = context;
    return foreign->stopped && foreign->stopped(foreign->context);
}

static int distrust(struct foreign *foreign, struct error *error)
{
    static const struct {
        int setting;
        int on;
    } settings[] = {{SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
                    {SQLITE_DBCONFIG_DEFENSIVE, 1},
                    {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                    {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                    {SQLITE_DBCONFIG_ENABLE_VIEW, 0}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (sqlite3_db_config(foreign->handle, settings[i].setting, settings[i].on, (int *)NULL) != SQLITE_OK)
            return fail(foreign, error);
    sqlite3_limit(foreign->handle, SQLITE_LIMIT_LENGTH, FOREIGN_VALUE_BYTES);
    sqlite3_limit(foreign->handle, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_progress_handler(foreign->handle, INSTRUCTIONS_PER_CHECK, must_stop, foreign);
    if (sqlite3_exec(foreign->handle,
                     "PRAGMA query_only=ON; PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;"
                     "PRAGMA cache_size=-4096; PRAGMA temp_store=MEMORY;",
                     NULL, NULL, NULL) != SQLITE_OK)
        return fail(foreign, error);
    sqlite3_set_authorizer(foreign->handle, allow, foreign);
    return 0;
}

/*
 * Makes a URI with immutable=1, so that SQLite takes no lock and looks for no journal. The path may contain
 * any bytes.
 */
static int make_name(const char *path, struct buffer *name)
{
    int failed = buffer_append_text(name, "file:");
    for (; *path && !failed; path++)
        failed = buffer_printf(name, "%%%02x", (unsigned)(unsigned char)*path);
    return failed || buffer_append_text(name, "?immutable=1&mode=ro") ? -1 : 0;
}

static int open_file(struct foreign *foreign, const char *path, struct error *error)
{
    struct buffer name = BUFFER_INIT;
    int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
    if (make_name(path, &name)) {
        buffer_release(&name);
        return error_no_memory(error);
    }
    int code = sqlite3_open_v2(name.data, &foreign->handle, flags, NULL);
    buffer_release(&name);
    if (code == SQLITE_OK)
        return distrust(foreign, error);
    return foreign->handle ? fail(foreign, error) : error_no_memory(error);
}

static void leave_table(struct foreign *foreign)
{
    sqlite3_finalize(foreign->rows);
    foreign->rows = NULL;
    foreign->table = NULL;
    foreign->row_count = 0;
}

/* Whether it is a table stored in the file, not a view or a virtual table. */
static int is_table(struct foreign *foreign, const char *table, struct error *error)
{
    static const char made_up[] = "CREATE VIRTUAL";
    sqlite3_stmt *list = NULL;
    int is = 0, code = SQLITE_ROW;
    if (sqlite3_prepare_v2(foreign->handle, "SELECT type, name, sql FROM sqlite_master", -1, &list, NULL) !=
        SQLITE_OK)
        return fail(foreign, error);
    while (!is && (code = sqlite3_step(list)) == SQLITE_ROW) {
        const char *type = (const char *)sqlite3_column_text(list, 0);
        const char *name = (const char *)sqlite3_column_text(list, 1);
        const char *sql = (const char *)sqlite3_column_text(list, 2);
        is = type && name && sql && strcmp(type, "table") == 0 && strcmp(name, table) == 0 &&
             sqlite3_strnicmp(sql, made_up, sizeof made_up - 1) != 0;
    }
    int failed = code != SQLITE_ROW && code != SQLITE_DONE ? fail(foreign, error) : 0;
    sqlite3_finalize(list);
    return failed ? -1 : is;
}

/* Values of SQLite's table_xinfo for `hidden`; other values mark columns that are computed when read. */
enum { COLUMN_PLAIN = 0, COLUMN_STORED = 3, XINFO_NAME = 1, XINFO_HIDDEN = 6 };

static void mark_column(sqlite3_stmt *list, const char *const *columns, size_t count, int *is_there)
{
    const char *name = (const char *)sqlite3_column_text(list, XINFO_NAME);
    int what = sqlite3_column_int(list, XINFO_HIDDEN);
    for (size_t i = 0; name && i < count; i++)
        is_there[i] |=
            (what == COLUMN_PLAIN || what == COLUMN_STORED) && sqlite3_stricmp(name, columns[i]) == 0;
}

/*
 * Finds which of the columns are stored in the file. Computed columns are skipped, because their expressions
 * would run code of the file.
 */
static int find_columns(struct foreign *foreign, const char *table, const char *const *columns, size_t count,
                        int *is_there, struct error *error)
{
    sqlite3_stmt *list = NULL;
    char *sql = sqlite3_mprintf("PRAGMA main.table_xinfo(\"%w\")", table);
    int code = sql ? sqlite3_prepare_v2(foreign->handle, sql, -1, &list, NULL) : SQLITE_NOMEM;
    sqlite3_free(sql);
    if (code != SQLITE_OK)
        return code == SQLITE_NOMEM ? error_no_memory(error) : fail(foreign, error);
    for (size_t i = 0; i < count; i++)
        is_there[i] = 0;
    while ((code = sqlite3_step(list)) == SQLITE_ROW)
        mark_column(list, columns, count, is_there);
    int failed = code == SQLITE_DONE ? 0 : fail(foreign, error);
    sqlite3_finalize(list);
    return failed;
}

/* Writes "SELECT a, b FROM table" with the columns that exist; if none does, with the first stored column. */
static int write_query(struct foreign *foreign, const char *table, const char *const *columns,
                       const int *is_there, struct buffer *sql)
{
    int place = 0;
    int failed = buffer_append_text(sql, "SELECT 0");
    for (size_t i = 0; i < foreign->column_count && !failed; i++) {
        foreign->place[i] = is_there[i] ? ++place : -1;
        if (is_there[i])
            failed = buffer_printf(sql, ", \"%s\"", columns[i]);
    }
    return failed || buffer_printf(sql, " FROM main.\"%s\"", table);
}

/* Table names come from our code and contain no quotes. */
static int open_table(void *context, const char *table, const char *const *columns, size_t count,
                      struct error *error)
{
    struct foreign *foreign = context;
    struct buffer sql = BUFFER_INIT;
    int is_there[FOREIGN_COLUMNS];
    leave_table(foreign);
    int is = is_table(foreign, table, error);
    if (is < 1)
        return is;
    foreign->table = table;
    foreign->column_count = count;
    if (find_columns(foreign, table, columns, count, is_there, error))
        return -1;
    int failed = write_query(foreign, table, columns, is_there, &sql) ? error_no_memory(error) : 0;
    if (!failed && sqlite3_prepare_v2(foreign->handle, sql.data, -1, &foreign->rows, NULL) != SQLITE_OK)
        failed = fail(foreign, error);
    buffer_release(&sql);
    return failed ? -1 : 1;
}

static int take_value(sqlite3_stmt *rows, int place, struct foreign_value *value)
{
    int type = place < 0 ? SQLITE_NULL : sqlite3_column_type(rows, place);
    *value = (struct foreign_value){.kind = FOREIGN_NULL};
    if (type == SQLITE_INTEGER || type == SQLITE_FLOAT) {
        value->kind = FOREIGN_INTEGER;
        value->integer = sqlite3_column_int64(rows, place);
    } else if (type != SQLITE_NULL) {
        int is_text = type == SQLITE_TEXT;
        value->kind = is_text ? FOREIGN_TEXT : FOREIGN_BLOB;
        value->bytes =
            is_text ? (const char *)sqlite3_column_text(rows, place) : sqlite3_column_blob(rows, place);
        value->length = (size_t)sqlite3_column_bytes(rows, place);
        if (!value->bytes && value->length)
            return -1;
        if (!value->bytes)
            value->bytes = "";
    }
    return 0;
}

static int next_row(void *context, struct foreign_value *values, struct error *error)
{
    struct foreign *foreign = context;
    int code = foreign->rows ? sqlite3_step(foreign->rows) : SQLITE_DONE;
    if (code == SQLITE_DONE) {
        leave_table(foreign);
        return 0;
    }
    if (code != SQLITE_ROW)
        return fail(foreign, error);
    if (foreign->row_count++ >= foreign->rows_most)
        return error_set(error, "table %s claims more rows than fit into the file", foreign->table);
    for (size_t i = 0; i < foreign->column_count; i++)
        if (take_value(foreign->rows, foreign->place[i], &values[i]))
            return error_no_memory(error);
    return 1;
}

struct foreign *foreign_open(const char *path, int (*stopped)(void *context), void *context,
                             struct error *error)
{
    struct stat status;
    struct foreign *foreign = calloc(1, sizeof *foreign);
    if (!foreign) {
        error_no_memory(error);
        return NULL;
    }
    foreign->stopped = stopped;
    foreign->context = context;
    foreign->tables = (struct foreign_tables){.context = foreign, .open = open_table, .next = next_row};
    int failed = stat(path, &status) || !S_ISREG(status.st_mode)
                     ? error_set(error, "SQLite reads only regular files, not pipes or compressed files")
                     : open_file(foreign, path, error);
    if (failed) {
        foreign_close(foreign);
        return NULL;
    }
    foreign->rows_most = status.st_size / ROW_BYTES;
    return foreign;
}

void foreign_close(struct foreign *foreign)
{
    if (!foreign)
        return;
    leave_table(foreign);
    sqlite3_close(foreign->handle);
    free(foreign);
}

const struct foreign_tables *foreign_tables(const struct foreign *foreign)
{
    return &foreign->tables;
}

/*
 * Writes an SQLite file for other tools: plain tables with the rows of the store's views, indexes and
 * descriptions of the columns.
 */

#include "base/base.h"
#include "model/model.h"
#include "store/internal.h"
#include "store/sqlite.h"
#include "store/store.h"

#include "schemas.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * An SQLite VFS that writes a database to an open file descriptor, which may have no name. No other process
 * knows the file, so there is no locking and no syncing. Temporary files use SQLite's default VFS. One of
 * these for each database; it must not move until descriptor_file_release.
 */
struct descriptor_file {
    sqlite3_vfs
        vfs; /* its name is passed to sqlite3_open_v2; the name of the database itself has no meaning */
    sqlite3_vfs *own; /* SQLite's default VFS */
    int descriptor;   /* borrowed: open for reading and writing, seekable */
    char name[48];
};

/* SQLite's open file in this VFS. */
struct opened {
    sqlite3_file base;
    int descriptor;
};

static int descriptor_of(sqlite3_file *file)
{
    return ((struct opened *)file)->descriptor;
}

static int close_nothing(sqlite3_file *file)
{
    return SQLITE_OK;
}

/* Bytes after the end of the file read as zeros. */
static int read_bytes(sqlite3_file *file, void *bytes, int length, sqlite3_int64 at)
{
    size_t done = 0;
    while (done < (size_t)length) {
        ssize_t count =
            pread(descriptor_of(file), (char *)bytes + done, (size_t)length - done, (off_t)at + (off_t)done);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return SQLITE_IOERR_READ;
        if (count == 0)
            break;
        done += (size_t)count;
    }
    memset((char *)bytes + done, 0, (size_t)length - done);
    return done < (size_t)length ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
}

static int write_bytes(sqlite3_file *file, const void *bytes, int length, sqlite3_int64 at)
{
    for (size_t done = 0; done < (size_t)length;) {
        ssize_t count = pwrite(descriptor_of(file), (const char *)bytes + done, (size_t)length - done,
                               (off_t)at + (off_t)done);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return errno == ENOSPC || errno == EDQUOT ? SQLITE_FULL : SQLITE_IOERR_WRITE;
        done += (size_t)count;
    }
    return SQLITE_OK;
}

static int truncate_to(sqlite3_file *file, sqlite3_int64 bytes)
{
    return ftruncate(descriptor_of(file), (off_t)bytes) ? SQLITE_IOERR_TRUNCATE : SQLITE_OK;
}

static int tell_size(sqlite3_file *file, sqlite3_int64 *bytes)
{
    struct stat status;
    if (fstat(descriptor_of(file), &status))
        return SQLITE_IOERR_FSTAT;
    *bytes = (sqlite3_int64)status.st_size;
    return SQLITE_OK;
}

static int do_nothing(sqlite3_file *file, int how)
{
    return SQLITE_OK;
}

static int tell_free(sqlite3_file *file, int *is_locked)
{
    *is_locked = 0;
    return SQLITE_OK;
}

static int refuse(sqlite3_file *file, int what, void *argument)
{
    return SQLITE_NOTFOUND;
}

static int tell_none(sqlite3_file *file)
{
    return 0;
}

static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = close_nothing,
    .xRead = read_bytes,
    .xWrite = write_bytes,
    .xTruncate = truncate_to,
    .xSync = do_nothing,
    .xFileSize = tell_size,
    .xLock = do_nothing,
    .xUnlock = do_nothing,
    .xCheckReservedLock = tell_free,
    .xFileControl = refuse,
    .xSectorSize = tell_none,
    .xDeviceCharacteristics = tell_none,
};

static int open_any(sqlite3_vfs *vfs, const char *name, sqlite3_file *opened, int flags, int *flags_taken)
{
    struct descriptor_file *file = (struct descriptor_file *)vfs;
    if (!(flags & SQLITE_OPEN_MAIN_DB))
        return file->own->xOpen(file->own, name, opened, flags, flags_taken);
    *(struct opened *)opened = (struct opened){{&methods}, file->descriptor};
    if (flags_taken)
        *flags_taken = flags;
    return SQLITE_OK;
}

/* Returns an SQLite code. */
static int descriptor_file_init(struct descriptor_file *file, int descriptor)
{
    sqlite3_vfs *own = sqlite3_vfs_find(NULL);
    if (!own)
        return SQLITE_ERROR;
    *file = (struct descriptor_file){.vfs = *own, .own = own, .descriptor = descriptor};
    snprintf(file->name, sizeof file->name, "ncclprof-%p", (void *)file);
    file->vfs.zName = file->name;
    file->vfs.pNext = NULL;
    file->vfs.xOpen = open_any;
    if (file->vfs.szOsFile < (int)sizeof(struct opened))
        file->vfs.szOsFile = (int)sizeof(struct opened);
    int code = sqlite3_vfs_register(&file->vfs, 0);
    if (code != SQLITE_OK)
        file->own = NULL;
    return code;
}

/* Call it after the database is closed; also allowed on a zeroed struct. */
static void descriptor_file_release(struct descriptor_file *file)
{
    if (file->own)
        sqlite3_vfs_unregister(&file->vfs);
    file->own = NULL;
}

struct plain_file {
    struct store store; /* the connection; not a store as store.c opens it */
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

/* Replaces invalid UTF-8, which file names may contain and other tools refuse. */
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

/* Binds a text as long as the row is not left. */
static int lend_text(struct statement *rows, struct statement *insert, int column, struct error *error)
{
    size_t length;
    const char *bytes = statement_bytes(rows, column, &length);
    if (!bytes || !escape_is_utf8(bytes, length))
        return copy_text(rows, insert, column, error);
    return sqlite3_bind_text64(insert->handle, column + 1, bytes, length, SQLITE_STATIC, SQLITE_UTF8) ==
                   SQLITE_OK
               ? 0
               : store_error(insert->store, error, "cannot bind a value");
}

/* `is_null` says whether NULL is bound already: values stay bound from row to row, and many columns are
 * empty. */
static int copy_cell(struct statement *rows, struct statement *insert, int column, unsigned char *is_null,
                     struct error *error)
{
    int type = sqlite3_column_type(rows->handle, column), was_null = *is_null, code;
    *is_null = type == SQLITE_NULL;
    if (type == SQLITE_TEXT)
        return lend_text(rows, insert, column, error);
    if (type == SQLITE_NULL)
        code = was_null ? SQLITE_OK : sqlite3_bind_null(insert->handle, column + 1);
    else if (type == SQLITE_INTEGER)
        code = sqlite3_bind_int64(insert->handle, column + 1, sqlite3_column_int64(rows->handle, column));
    else if (type == SQLITE_FLOAT)
        code = sqlite3_bind_double(insert->handle, column + 1, sqlite3_column_double(rows->handle, column));
    else
        code = sqlite3_bind_value(insert->handle, column + 1, sqlite3_column_value(rows->handle, column));
    return code == SQLITE_OK ? 0 : store_error(insert->store, error, "cannot bind a value");
}

static int copy_row(struct statement *rows, struct statement *insert, int columns, unsigned char *is_null,
                    struct error *error)
{
    for (int i = 0; i < columns; i++)
        if (copy_cell(rows, insert, i, &is_null[i], error))
            return -1;
    return statement_step(insert, error) < 0 ? -1 : 0;
}

static int copy_rows(struct plain_file *file, const struct view *view, struct statement *rows, int64_t *count,
                     struct error *error)
{
    struct statement *insert = prepare_insert(file, view, error);
    unsigned char *is_null = array_new(view->column_count, 1);
    int more = !insert ? -1 : !is_null ? error_no_memory(error) : 1;
    while (more == 1 && (more = statement_step(rows, error)) == 1)
        if (copy_row(rows, insert, (int)view->column_count, is_null, error))
            more = -1;
        else
            ++*count;
    statement_free(insert);
    free(is_null);
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

/* Transactions, execution of SQL, and error messages of a store's connection. */

#include "base/base.h"
#include "store/internal.h"
#include "store/sqlite.h"
#include "store/store.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The process that holds a lock on the store, from /proc/locks; 0 if none is found or the path is unknown.
 * The file itself must not be opened for this: closing it would drop the locks of our own connection (POSIX).
 */
static long lock_holder(const char *path)
{
    struct stat status;
    FILE *list = !path || stat(path, &status) ? NULL : fopen("/proc/locks", "re");
    if (!list)
        return 0;
    char line[256];
    long pid, holder = 0;
    unsigned long long inode;
    while (!holder && fgets(line, sizeof line, list))
        /* Numbers from the kernel; other lines name no holder. NOLINTNEXTLINE(cert-err34-c) */
        if (sscanf(line, "%*s POSIX %*s %*s %ld %*x:%*x:%llu", &pid, &inode) == 2 && inode == status.st_ino &&
            pid != (long)getpid())
            holder = pid;
    fclose(list);
    return holder;
}

static void describe(struct store *store, char *text, size_t text_bytes)
{
    int code = sqlite3_errcode(store->handle) & 0xff;
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED) {
        long holder = lock_holder(store->path);
        if (holder)
            snprintf(text, text_bytes, "process %ld has locked the store", holder);
        else
            snprintf(text, text_bytes, "another process had locked the store; try again");
    } else if (code == SQLITE_IOERR) {
        int number = sqlite3_system_errno(store->handle);
        snprintf(text, text_bytes, "%s (%s)", sqlite3_errmsg(store->handle),
                 number ? strerror(number) : "no reason given");
    } else {
        snprintf(text, text_bytes, "%s", sqlite3_errmsg(store->handle));
    }
}

int store_error(struct store *store, struct error *error, const char *format, ...)
{
    char reason[ERROR_TEXT_BYTES / 2], what[ERROR_TEXT_BYTES / 2];
    describe(store, reason, sizeof reason);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return error_set(error, "%s: %s", what, reason);
}

const char *store_path(const struct store *store)
{
    return store->path;
}

int store_execute(struct store *store, const char *sql, struct error *error)
{
    if (sqlite3_exec(store->handle, sql, NULL, NULL, NULL) != SQLITE_OK)
        return store_error(store, error, "'%.60s' failed", sql);
    return 0;
}

int store_begin(struct store *store, struct error *error)
{
    return store_execute(store, "BEGIN IMMEDIATE", error);
}

int store_begin_reading(struct store *store, struct error *error)
{
    return store_execute(store, "BEGIN", error);
}

int store_commit(struct store *store, struct error *error)
{
    return store_execute(store, "COMMIT", error);
}

void store_rollback(struct store *store)
{
    if (!sqlite3_get_autocommit(store->handle))
        sqlite3_exec(store->handle, "ROLLBACK", NULL, NULL, NULL);
}

/*
 * Results that are kept in the store (schemas/store/020_kept.sql).
 *
 * SQLite counts in the header of the file how often it was written. Results hold for one value of that
 * counter. Keeping one more is a write, too, so that it moves all of them to the next value. Whatever else is
 * written to the store, by any program, leaves them behind.
 */
#include "base/base.h"
#include "store/internal.h"
#include "store/sqlite.h"
#include "store/store.h"

#include "schemas.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char KEPT_STATE[] = "kept_state";

/* In the header of an SQLite file: how it is written and read (1: with a rollback journal), the counter. */
enum { HEADER_BYTES = 28, WRITE_VERSION_AT = 18, READ_VERSION_AT = 19, COUNTER_AT = 24 };

/* With a write-ahead log, the counter does not count all writes. Must be in a transaction. */
static int64_t read_state(struct store *store)
{
    unsigned char header[HEADER_BYTES];
    sqlite3_file *file = NULL;
    if (sqlite3_file_control(store->handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || !file ||
        !file->pMethods || file->pMethods->xRead(file, header, HEADER_BYTES, 0) != SQLITE_OK ||
        header[WRITE_VERSION_AT] != 1 || header[READ_VERSION_AT] != 1)
        return STATE_UNKNOWN;
    const unsigned char *at = header + COUNTER_AT;
    return (int64_t)at[0] << 24 | (int64_t)at[1] << 16 | (int64_t)at[2] << 8 | at[3];
}

/* Whether the path of the store is still that of the open file, and can be written to. */
static int can_be_written(struct store *store)
{
    int has_moved = 1;
    return sqlite3_file_control(store->handle, "main", SQLITE_FCNTL_HAS_MOVED, &has_moved) == SQLITE_OK &&
           !has_moved && access(store->path, W_OK) == 0;
}

static int is_intact(const void *digest, size_t digest_bytes, const void *bytes, size_t length)
{
    unsigned char actual[SHA256_BYTES];
    sha256(bytes, length, actual);
    return digest_bytes == sizeof actual && memcmp(digest, actual, sizeof actual) == 0;
}

static int take(struct statement *row, struct buffer *result)
{
    size_t digest_bytes, length;
    const void *digest = statement_blob(row, 0, &digest_bytes), *bytes = statement_blob(row, 1, &length);
    return digest && bytes && is_intact(digest, digest_bytes, bytes, length) &&
           buffer_append(result, bytes, length) == 0;
}

static int find(struct store *store, const char *question, struct buffer *result)
{
    char build[BUILD_ID_BYTES];
    build_id(build);
    struct statement *statement = store_prepare(store, schema_meta_kept_find, NULL);
    int found = statement && statement_bind_text(statement, 1, question, NULL) == 0 &&
                statement_bind_text(statement, 2, build, NULL) == 0 && statement_step(statement, NULL) == 1 &&
                take(statement, result);
    statement_free(statement);
    return found;
}

/* Developers measure and compare what is computed. */
static int is_switched_off(void)
{
    const char *off = getenv("NCCLPROF_KEEP_NOTHING");
    return off && *off;
}

int kept_find(struct store *store, const char *question, struct buffer *result, int64_t *state)
{
    int64_t kept_state;
    int is_own = sqlite3_get_autocommit(store->handle), found = 0;
    *state = STATE_UNKNOWN;
    if (is_switched_off() || (is_own && store_begin_reading(store, NULL)))
        return 0;
    if (store_fact(store, KEPT_STATE, STATE_UNKNOWN, &kept_state, NULL) == 0) {
        *state = read_state(store);
        found = *state != STATE_UNKNOWN && kept_state == *state && find(store, question, result);
    }
    if (is_own)
        store_rollback(store);
    if (!is_own || !can_be_written(store))
        *state = STATE_UNKNOWN;
    return found;
}

/* How long to wait for other connections: keeping a result must delay nothing. */
enum { WAIT_MS = 100 };

/* Kept results take at most this much of the file, or a part of it where that is more. */
enum { KEPT_BYTES = 1 << 20, PART_OF_FILE = 8 };

static int drop_others(struct store *store, const char *build)
{
    struct statement *drop = store_prepare(store, schema_meta_kept_drop_others, NULL);
    int failed = !drop || statement_bind_text(drop, 1, build, NULL) || statement_step(drop, NULL) < 0;
    statement_free(drop);
    return failed;
}

/* Makes room: the other results go if there is not enough. -1 if there is not enough even then. */
static int make_room(struct store *store, size_t more)
{
    struct statement *sums = store_prepare(store, schema_meta_kept_bytes, NULL);
    int row = sums ? statement_step(sums, NULL) : -1;
    int64_t used = row == 1 ? statement_integer(sums, 0) : 0,
            file = row == 1 ? statement_integer(sums, 1) : 0;
    int64_t most = file / PART_OF_FILE > KEPT_BYTES ? file / PART_OF_FILE : KEPT_BYTES;
    statement_free(sums);
    if (row != 1 || (int64_t)more > most)
        return -1;
    return used + (int64_t)more > most ? store_execute(store, schema_meta_kept_drop_all, NULL) : 0;
}

static int add(struct store *store, const char *question, const char *build, const struct buffer *result)
{
    unsigned char digest[SHA256_BYTES];
    sha256(result->data, result->length, digest);
    struct statement *statement = store_prepare(store, schema_meta_kept_add, NULL);
    int failed = !statement || statement_bind_text(statement, 1, question, NULL) ||
                 statement_bind_text(statement, 2, build, NULL) ||
                 statement_bind_blob(statement, 3, digest, sizeof digest, NULL) ||
                 statement_bind_blob(statement, 4, result->data, result->length, NULL) ||
                 statement_step(statement, NULL) < 0;
    statement_free(statement);
    return failed;
}

static int add_in_transaction(struct store *store, const char *question, const char *build,
                              const struct buffer *result, int64_t state)
{
    int64_t kept_state;
    if (store_fact(store, KEPT_STATE, STATE_UNKNOWN, &kept_state, NULL) || read_state(store) != state)
        return -1;
    int failed = kept_state == state ? drop_others(store, build)
                                     : store_execute(store, schema_meta_kept_drop_all, NULL);
    return failed || make_room(store, result->length) || add(store, question, build, result) ||
                   store_set_fact(store, KEPT_STATE, state + 1, NULL) || store_commit(store, NULL)
               ? -1
               : 0;
}

int64_t kept_add(struct store *store, const char *question, const struct buffer *result, int64_t state)
{
    char build[BUILD_ID_BYTES];
    build_id(build);
    if (state == STATE_UNKNOWN || !*build || !sqlite3_get_autocommit(store->handle) || !can_be_written(store))
        return STATE_UNKNOWN;
    struct store *writer = store_connect(store->path, STORE_WRITE, NULL);
    int failed =
        !writer || sqlite3_busy_timeout(writer->handle, WAIT_MS) != SQLITE_OK || store_begin(writer, NULL);
    if (!failed && (failed = add_in_transaction(writer, question, build, result, state)) != 0)
        store_rollback(writer);
    store_close(writer);
    return failed ? STATE_UNKNOWN : state + 1;
}

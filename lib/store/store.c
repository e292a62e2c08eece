/*
 * Opens and closes stores, with the settings of their SQLite connections, and reads and writes facts. Also
 * handles the paths of files on a node.
 */

#include "store/store.h"
#include "base/base.h"
#include "store/internal.h"
#include "store/sqlite.h"

#include "schemas.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How long a connection waits for another one, and the time between attempts. */
enum { BUSY_TIMEOUT_MS = 15000, POLL_MS = 2 };

static int wait_for_others(void *context, int attempts)
{
    if (attempts >= BUSY_TIMEOUT_MS / POLL_MS)
        return 0;
    usleep(POLL_MS * 1000);
    return 1;
}

/* SQLite would create the file with mode 0644, but a trace contains too much about a job for that. */
static int make_file(const char *path, struct error *error)
{
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
    if (file < 0) {
        int number = errno;
        return error_set_errno(error, number, "the file cannot be %s",
                               access(path, F_OK) ? "created" : "written to");
    }
    close(file);
    return 0;
}

/* Opening a FIFO would block, and errors for a directory or device would be confusing. */
static int check_file(const char *path, struct error *error)
{
    struct stat status;
    if (stat(path, &status)) {
        return error_set_errno(error, errno, "cannot access the file");
    }
    if (!S_ISREG(status.st_mode))
        return error_set(error, "the path is %s, not a file",
                         S_ISDIR(status.st_mode) ? "a directory" : "a device or pipe");
    /* The smallest SQLite page: SQLite would treat a shorter file as an empty database and overwrite it. */
    if (status.st_size > 0 && status.st_size < 512)
        return error_set(error, "the file is not an SQLite database, so it is not a store");
    return 0;
}

/* Number of open stores, over all threads. */
static atomic_int open_stores;

/*
 * SQLite puts what does not fit into memory under /var/tmp or /tmp, where other users can fill the disk. So
 * this directs it to the directory of the store, unless SQLITE_TMPDIR is set; if that directory is not
 * writable, temporary data stays in memory. The directory is SQLite's only global variable: stores that are
 * open at the same time share that of the first.
 */
static void use_folder(const char *path)
{
    if (atomic_fetch_add(&open_stores, 1) > 0 || getenv("SQLITE_TMPDIR"))
        return;
    const char *slash = strrchr(path, '/');
    sqlite3_temp_directory =
        slash ? sqlite3_mprintf("%.*s", (int)(slash - path + 1), path) : sqlite3_mprintf(".");
}

static void leave_folder(void)
{
    if (atomic_fetch_sub(&open_stores, 1) > 1)
        return;
    sqlite3_free(sqlite3_temp_directory);
    sqlite3_temp_directory = NULL;
}

static const char *place_of_temporaries(void)
{
    const char *folder = sqlite3_temp_directory;
    int usable = getenv("SQLITE_TMPDIR") || (folder && access(folder, W_OK | X_OK) == 0);
    return usable ? "PRAGMA temp_store=FILE" : "PRAGMA temp_store=MEMORY";
}

/* The file may come from somebody else, so nothing in it may run code. */
static int distrust(struct store *store, struct error *error)
{
    static const struct {
        int setting;
        int on;
    } settings[] = {
        {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
        {SQLITE_DBCONFIG_DEFENSIVE, 1},
        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        /* We create no triggers: one in the file is foreign and would act on what we write. */
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
        /*
         * Views in the file may run without end, even in place of one of our tables. Only our own views are
         * read (migrate_make_views); query.c allows those in the file, within limits.
         */
        {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (sqlite3_db_config(store->handle, settings[i].setting, settings[i].on, (int *)NULL) != SQLITE_OK)
            return error_set(error,
                             "SQLite %s refuses setting %d, which is needed to open untrusted files safely",
                             sqlite3_libversion(), settings[i].setting);
    return 0;
}

static int configure(struct store *store, enum store_mode mode, struct error *error)
{
    /*
     * secure_delete: off, because Debian's default costs a fifth of the speed and a trace holds no secrets
     * that must be erased. cell_size_check: a damaged page is reported instead of followed.
     */
    if (store_execute(store, "PRAGMA cell_size_check=ON; PRAGMA foreign_keys=OFF;", error) ||
        store_execute(store, place_of_temporaries(), error))
        return -1;
    if (mode == STORE_READ)
        return 0;
    return store_execute(store,
                         "PRAGMA secure_delete=OFF; PRAGMA journal_mode=DELETE;"
                         "PRAGMA synchronous=FULL; PRAGMA cache_size=-16384;",
                         error);
}

/*
 * A name such as ":memory:" or "file:x?mode=memory" is the name of a file here. SQLite, which may be built to
 * accept URIs, does not treat a name that begins like a path as one.
 */
static int open_file(struct store *store, enum store_mode mode, struct error *error)
{
    int flags = (mode == STORE_READ ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) | SQLITE_OPEN_NOMUTEX;
    char *name = sqlite3_mprintf("%s%s", store->path[0] == '/' ? "" : "./", store->path);
    if (!name)
        return error_no_memory(error);
    int code = sqlite3_open_v2(name, &store->handle, flags, NULL);
    sqlite3_free(name);
    if (code == SQLITE_OK)
        return 0;
    return store->handle ? store_error(store, error, "cannot open the file") : error_no_memory(error);
}

struct store *store_connect(const char *path, enum store_mode mode, struct error *error)
{
    struct store *store = calloc(1, sizeof *store);
    if (!store || !(store->path = strdup(path))) {
        error_no_memory(error);
        free(store);
        return NULL;
    }
    use_folder(path);
    if (open_file(store, mode, error)) {
        store_close(store);
        return NULL;
    }
    if (sqlite3_extended_result_codes(store->handle, 1) != SQLITE_OK ||
        sqlite3_busy_handler(store->handle, wait_for_others, NULL) != SQLITE_OK) {
        store_error(store, error, "cannot set up the SQLite connection");
        store_close(store);
        return NULL;
    }
    if (distrust(store, error)) {
        store_close(store);
        return NULL;
    }
    return store;
}

/*
 * Checks or updates the schema. Returns 0, -1, or 1 if an update is needed and this connection is read-only.
 */
static int prepare_schema(struct store *store, enum store_mode mode, struct error *error)
{
    enum schema_state state;
    if (migrate_check(store, &state, error)) {
        int code = sqlite3_extended_errcode(store->handle);
        return code == SQLITE_READONLY_ROLLBACK ? 1 : -1;
    }
    if (state == SCHEMA_CURRENT)
        return mode == STORE_READ ? 0 : migrate_complete_words(store, error);
    if (state == SCHEMA_EMPTY && mode != STORE_CREATE)
        return error_set(error, "the file is empty, so it is not a store");
    if (mode == STORE_READ)
        return 1;
    return migrate_run(store, error);
}

static struct store *open_once(const char *path, enum store_mode mode, int *must_write, struct error *error)
{
    struct store *store = store_connect(path, mode, error);
    if (!store)
        return NULL;
    int outcome = prepare_schema(store, mode, error);
    if (outcome == 0)
        outcome = configure(store, mode, error) || step_table_register(store, error) ||
                          packed_tables_register(store, error) || computed_table_register(store, error) ||
                          migrate_make_views(store, error) ||
                          (mode == STORE_READ && store_execute(store, "PRAGMA query_only=ON", error))
                      ? -1
                      : 0;
    if (outcome == 0)
        return store;
    *must_write = outcome == 1;
    store_close(store);
    return NULL;
}

static int is_missing(const char *path)
{
    struct stat status;
    return stat(path, &status) && errno == ENOENT;
}

struct store *store_open(const char *path, enum store_mode mode, struct error *error)
{
    if (mode != STORE_CREATE && is_missing(path)) {
        error_set(error, "store '%s' does not exist; create it with: ncclprof ingest PATH...", path);
        return NULL;
    }
    if ((mode == STORE_CREATE && make_file(path, error)) || check_file(path, error)) {
        error_wrap(error, "cannot use store '%s'", path);
        return NULL;
    }
    int must_write = 0;
    struct store *store = open_once(path, mode, &must_write, error);
    if (!store && must_write) {
        /* A writer was killed, or the schema is older: repair the store first, then open it read-only. */
        int again = 0;
        error_clear(error);
        struct store *mended = open_once(path, STORE_WRITE, &again, error);
        if (mended)
            store = open_once(path, mode, &again, error);
        store_close(mended);
    }
    if (!store)
        error_wrap(error, "cannot use store '%s'", path);
    return store;
}

void store_expect_threads(void)
{
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

void store_close(struct store *store)
{
    if (!store)
        return;
    sqlite3_close_v2(store->handle);
    leave_folder();
    free(store->program);
    free(store->input);
    free(store->path);
    known_blocks_free(store->known_blocks);
    free(store);
}

void store_set_threads(struct store *store, size_t threads)
{
    store->threads = threads;
}

size_t store_threads(const struct store *store)
{
    return store->threads;
}

/* Sets *count to the number of runs. */
static int count_runs(struct store *store, int64_t *count, struct error *error)
{
    struct statement *some = store_prepare(store, schema_meta_runs_some, error);
    int row = some ? statement_step(some, error) : -1;
    *count = row == 1 ? statement_integer(some, 2) : 0;
    statement_free(some);
    return row < 0 ? -1 : 0;
}

int store_set_command(struct store *store, const char *program, const char *input, struct error *error)
{
    int64_t runs;
    free(store->program);
    free(store->input);
    store->program = strdup(program);
    store->input = strdup(input);
    if (!store->program || !store->input)
        return error_no_memory(error);
    if (count_runs(store, &runs, error))
        return -1;
    store->names_run = runs > 1;
    return 0;
}

int store_append_command(const struct store *store, const char *words, int64_t run_id, struct buffer *text)
{
    const char *program = store && store->program ? store->program : "ncclprof";
    return buffer_append_text(text, program) || buffer_append_byte(text, ' ') ||
                   buffer_append_text(text, words) ||
                   (store && store->names_run && run_id &&
                    buffer_printf(text, " --run %lld", (long long)run_id)) ||
                   (store && store->input && buffer_append_text(text, store->input))
               ? -1
               : 0;
}

int store_fact(struct store *store, const char *name, int64_t absent, int64_t *value, struct error *error)
{
    struct statement *statement = store_prepare(store, schema_meta_meta_fact, error);
    if (!statement)
        return -1;
    int found = statement_bind_text(statement, 1, name, error) ? -1 : statement_step(statement, error);
    if (found >= 0)
        *value = found ? statement_integer(statement, 0) : absent;
    statement_free(statement);
    return found < 0 ? -1 : 0;
}

int store_set_fact(struct store *store, const char *name, int64_t value, struct error *error)
{
    struct statement *statement = store_prepare(store, schema_meta_meta_set_fact, error);
    if (!statement)
        return -1;
    int outcome = statement_bind_text(statement, 1, name, error) ||
                          statement_bind_integer(statement, 2, value, error) ||
                          statement_step(statement, error) < 0
                      ? -1
                      : 0;
    statement_free(statement);
    return outcome;
}

/* The header of an SQLite file, and the offset of its application_id, which is big-endian. */
enum { HEADER_BYTES = 72, STAMP_AT = 68 };
static const char MAGIC[16] = "SQLite format 3";

int store_is_stamped(const char *path)
{
    unsigned char header[HEADER_BYTES];
    FILE *file = fopen(path, "rb");
    if (!file)
        return 0;
    size_t got = fread(header, 1, sizeof header, file);
    fclose(file);
    if (got != sizeof header || memcmp(header, MAGIC, sizeof MAGIC) != 0)
        return 0;
    const unsigned char *at = header + STAMP_AT;
    return ((uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3]) ==
           STORE_APPLICATION_ID;
}

const char *node_path_plain(const char *path)
{
    const char *slash = strchr(path, '/');
    return slash && slash > path + 1 && slash[-1] == ':' ? slash : path;
}

char *node_path_of(const char *node, const char *path)
{
    char *whole;
    if (*path != '/' || !*node)
        return strdup(path);
    return asprintf(&whole, "%s:%s", node, path) < 0 ? NULL : whole;
}

size_t node_path_common_depth(const char *one, const char *other)
{
    size_t depth = 0;
    for (; *one && *one == *other; one++, other++)
        depth += *one == '/';
    return depth + ((*one == '/' && !*other) || (!*one && *other == '/') || (!*one && !*other));
}

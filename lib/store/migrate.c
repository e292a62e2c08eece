/*
 * Creates the schema of a store and updates older ones. PRAGMA application_id marks an SQLite file as a
 * store, PRAGMA user_version is the version of its schema. Views are dropped and created again at each change
 * of the version, so schemas/view/ contains only their present form.
 *
 * A new view takes what follows, and no new version; `make check` says what is missing. Stores that lack it
 * get it as a temporary view.
 * - schemas/view/: the view; behind each of its columns type, unit and meaning. A new file takes a line in
 *   `views` below
 * - lib/store/views.c: its columns and a row: query describes them, export writes them
 * - man/ncclprof-store.5: an item under VIEWS
 *
 * A change of the schema takes a file in schemas/store and what follows; `make check` says what is missing.
 * - schemas/store/NNN_what.sql: the next number; a comment for each table and column
 * - tests/check/published.sha256: its digest, which `make golden` adds: it never changes from then on
 * - schemas/view/: the views that show it
 * - man/ncclprof-store.5: each table and view; under VERSIONS the number, and what older stores lack
 * - lib/model/record.c: a record table, with the tables in which joins save and extend its rows, so that its
 *   rows are added, removed and merged with their file; lib/model/event.h: a new column of operations
 * - lib/store/record_tables.c: any other table with rows of a file; schemas/ingest/write.sql, sweep: a table
 *   with facts about a process, a communicator or a member
 */

#include "base/base.h"
#include "model/model.h"
#include "store/internal.h"
#include "store/sqlite.h"
#include "store/store.h"

#include "schemas.h"

#include <string.h>

static const char *function_word(int number)
{
    return function_name((enum function)number);
}

static const char *datatype_word(int number)
{
    return datatype_name((enum datatype)number);
}

static const char *algorithm_word(int number)
{
    return algorithm_name((enum algorithm)number);
}

static const char *protocol_word(int number)
{
    return protocol_name((enum protocol)number);
}

static const char *end_source_word(int number)
{
    static const char *const words[] = {[END_UNKNOWN] = "unknown",
                                        [END_KERNEL] = "kernel",
                                        [END_PROXY] = "proxy",
                                        [END_HOST] = "host",
                                        [END_DUMP] = "dump"};
    return words[number];
}

static const char *place_word(int number)
{
    return node_place_name((enum node_place)number);
}

static const char *metric_word(int number)
{
    return node_metric_name((enum node_metric)number);
}

static const char *node_event_word(int number)
{
    return node_event_name((enum node_event_code)number);
}

static const struct {
    const char *kind;
    int count;
    const char *(*word)(int number);
} vocabularies[] = {
    {"function", FUNCTION_COUNT, function_word},     {"datatype", DATATYPE_COUNT, datatype_word},
    {"algorithm", ALGORITHM_COUNT, algorithm_word},  {"protocol", PROTOCOL_COUNT, protocol_word},
    {"end_source", END_DUMP + 1, end_source_word},   {"node_place", NODE_PLACES, place_word},
    {"node_metric", NODE_METRIC_COUNT, metric_word}, {"node_event", NODE_EVENT_COUNT, node_event_word},
};

static int write_words(struct statement *insert, size_t at, struct error *error)
{
    for (int number = 0; number < vocabularies[at].count; number++) {
        const char *word = vocabularies[at].word(number);
        if (!word)
            continue;
        if (statement_bind_text(insert, 1, vocabularies[at].kind, error) ||
            statement_bind_integer(insert, 2, number, error) || statement_bind_text(insert, 3, word, error) ||
            statement_step(insert, error) < 0)
            return -1;
    }
    return 0;
}

/* Fills the table vocabulary with the words of lib/model/vocabulary.c and node.c. */
static int vocabulary_write(struct store *store, struct error *error)
{
    struct statement *insert = store_prepare(store, schema_meta_meta_add_word, error);
    if (!insert)
        return -1;
    int outcome = 0;
    for (size_t at = 0; at < sizeof vocabularies / sizeof *vocabularies && !outcome; at++)
        outcome = write_words(insert, at, error);
    statement_free(insert);
    return outcome;
}

static const char *const migrations[] = {SCHEMA_MIGRATIONS};
static const char *const views[] = {schema_view_operation, schema_view_proxy,  schema_view_instance,
                                    schema_view_job,       schema_view_ledger, schema_view_call,
                                    schema_view_verdict,   schema_view_node};

/* The version that the first migration creates. Older stores cannot be updated. */
enum { OLDEST = 2, VIEWS = sizeof views / sizeof *views };
enum { NEWEST = OLDEST + sizeof migrations / sizeof *migrations - 1 };

/* `what` names the value in the error: "the file header". */
static int read_number(struct store *store, const char *sql, const char *what, int64_t *value,
                       struct error *error)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(store->handle, sql, -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    int outcome = 0;
    if (code == SQLITE_ROW)
        *value = sqlite3_column_int64(statement, 0);
    else if ((code & 0xff) == SQLITE_NOTADB)
        outcome = error_set(error, "the file is not an SQLite database, so it is not a store");
    else
        outcome = store_error(store, error, "cannot read %s", what);
    sqlite3_finalize(statement);
    return outcome;
}

int migrate_check(struct store *store, enum schema_state *state, struct error *error)
{
    int64_t tables = 0, application = 0, version = 0;
    if (read_number(store, "SELECT count(*) FROM sqlite_schema", "the file header", &tables, error) ||
        read_number(store, "PRAGMA application_id", "the file header", &application, error) ||
        read_number(store, "PRAGMA user_version", "the file header", &version, error))
        return -1;
    if (tables == 0 && application == 0 && version == 0) {
        *state = SCHEMA_EMPTY;
        return 0;
    }
    if (application != STORE_APPLICATION_ID)
        return error_set(error, "the file is an SQLite database of another program, not a store");
    if (version > NEWEST)
        return error_set(
            error,
            "the store was made by a newer ncclprof: its schema has version %lld; ncclprof " NCCLPROF_VERSION
            " supports versions up to %d",
            (long long)version, (int)NEWEST);
    if (version < 1)
        return error_set(error, "the store is damaged: its schema has version %lld, which does not exist",
                         (long long)version);
    if (version < OLDEST)
        return error_set(
            error,
            "the store was made by an older ncclprof: its schema has version %lld; ncclprof " NCCLPROF_VERSION
            " supports version %d or later. Ingest the traces into a new store",
            (long long)version, (int)OLDEST);
    *state = version == NEWEST ? SCHEMA_CURRENT : SCHEMA_OLDER;
    return 0;
}

static int drop_views(struct store *store, struct error *error)
{
    for (;;) {
        struct statement *list = store_prepare(store, schema_meta_meta_drop_view, error);
        if (!list)
            return -1;
        int found = statement_step(list, error);
        char *drop = found == 1 ? sqlite3_mprintf("%s", statement_text(list, 0)) : NULL;
        statement_free(list);
        if (found < 1)
            return found;
        int outcome = drop ? store_execute(store, drop, error) : error_no_memory(error);
        sqlite3_free(drop);
        if (outcome)
            return -1;
    }
}

#define CREATE_VIEW "CREATE VIEW "

/* Appends the SQL of the views, with each view made temporary. */
static int put_temporary(struct buffer *sql, const char *text)
{
    for (const char *at; (at = strstr(text, CREATE_VIEW)); text = at + sizeof CREATE_VIEW - 1)
        if (buffer_append(sql, text, (size_t)(at - text)) || buffer_append_text(sql, "CREATE TEMP VIEW "))
            return -1;
    return buffer_append_text(sql, text);
}

/* Whether the SQL is that of one of our views; SQLite stores it without the final semicolon. */
static int is_ours(const char *sql)
{
    size_t length = strlen(sql);
    for (int i = 0; i < VIEWS; i++) {
        const char *at = strstr(views[i], sql);
        if (at && at[length] == ';')
            return 1;
    }
    return 0;
}

static int count_ours(void)
{
    int count = 0;
    for (int i = 0; i < VIEWS; i++)
        for (const char *at = views[i]; (at = strstr(at, CREATE_VIEW)); at += sizeof CREATE_VIEW - 1)
            count++;
    return count;
}

/* 1: the file contains our views and no others; 0: not so; -1: error. */
static int has_ours_alone(struct store *store, struct error *error)
{
    struct statement *list = store_prepare(store, schema_meta_meta_list_views, error);
    int row = list ? 1 : -1, count = 0, all = 1;
    while (row == 1 && (row = statement_step(list, error)) == 1) {
        const char *sql = statement_text(list, 0);
        all &= sql && is_ours(sql);
        count++;
    }
    statement_free(list);
    return row < 0 ? -1 : all && count == count_ours();
}

static int make_temporary(struct store *store, struct error *error)
{
    struct buffer sql = BUFFER_INIT;
    int failed = buffer_append_text(&sql, "BEGIN;");
    for (int i = 0; i < VIEWS && !failed; i++)
        failed = put_temporary(&sql, views[i]);
    failed = failed || buffer_append_text(&sql, "COMMIT");
    failed = failed ? error_no_memory(error) : store_execute(store, sql.data, error);
    buffer_release(&sql);
    return failed;
}

int migrate_make_views(struct store *store, struct error *error)
{
    int has = has_ours_alone(store, error);
    if (has <= 0)
        return has < 0 ? -1 : make_temporary(store, error);
    store->reads_views = 1;
    return sqlite3_db_config(store->handle, SQLITE_DBCONFIG_ENABLE_VIEW, 1, (int *)NULL) == SQLITE_OK
               ? 0
               : store_error(store, error, "cannot enable views");
}

static int apply(struct store *store, int64_t version, struct error *error)
{
    size_t done = version >= OLDEST ? (size_t)(version - OLDEST) + 1 : 0;
    for (size_t i = done; i < sizeof migrations / sizeof *migrations; i++)
        if (store_execute(store, migrations[i], error))
            return error_wrap(error, "cannot bring the schema to version %zu", OLDEST + i);
    if (drop_views(store, error))
        return -1;
    for (int i = 0; i < VIEWS; i++)
        if (store_execute(store, views[i], error))
            return -1;
    char stamp[96];
    sqlite3_snprintf(sizeof stamp, stamp, "PRAGMA application_id=%d; PRAGMA user_version=%d;",
                     (int)STORE_APPLICATION_ID, (int)NEWEST);
    if (store_execute(store, stamp, error))
        return -1;
    return vocabulary_write(store, error);
}

int migrate_complete_words(struct store *store, struct error *error)
{
    int64_t count, known = 0;
    for (size_t at = 0; at < sizeof vocabularies / sizeof *vocabularies; at++)
        for (int number = 0; number < vocabularies[at].count; number++)
            known += vocabularies[at].word(number) != NULL;
    if (read_number(store, "SELECT count(*) FROM vocabulary", "the vocabulary of the store", &count, error))
        return -1;
    if (count >= known)
        return 0;
    if (store_begin(store, error))
        return -1;
    if (vocabulary_write(store, error) == 0 && store_commit(store, error) == 0)
        return 0;
    store_rollback(store);
    return -1;
}

int migrate_run(struct store *store, struct error *error)
{
    /* Another process may have updated the schema meanwhile: check again under the lock. */
    enum schema_state state = SCHEMA_CURRENT;
    int64_t version = 0;
    if (store_begin(store, error))
        return -1;
    int outcome = migrate_check(store, &state, error);
    if (outcome == 0 && state != SCHEMA_CURRENT) {
        outcome = read_number(store, "PRAGMA user_version", "the file header", &version, error);
        if (outcome == 0)
            outcome = apply(store, version, error);
    }
    if (outcome == 0)
        outcome = store_commit(store, error);
    if (outcome)
        store_rollback(store);
    return outcome;
}

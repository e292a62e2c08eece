#include "store/store.h"

#include "support/cmocka_all.h"
#include "support/store_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void refuse(void **state, enum store_mode mode, const char *why)
{
    struct error error = ERROR_INIT;
    assert_null(store_open(*state, mode, &error));
    assert_int_equal(error.depth, 2);
    if (!strstr(error.cause[0], why))
        print_error("'%s' does not contain '%s'\n", error.cause[0], why);
    assert_non_null(strstr(error.cause[0], why));
    assert_non_null(strstr(error.cause[1], *state));
}

static void refuse_missing(void **state, enum store_mode mode)
{
    struct error error = ERROR_INIT;
    assert_null(store_open(*state, mode, &error));
    assert_int_equal(error.depth, 1);
    assert_non_null(strstr(error.cause[0], *state));
    assert_non_null(strstr(error.cause[0], "does not exist; create it with: ncclprof ingest"));
}

static void put_file(void **state, const char *text)
{
    FILE *file = fopen(*state, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void test_made_private(void **state)
{
    struct stat status;
    umask(022);
    store_close(store_file_open(state, STORE_CREATE));
    assert_int_equal(stat(*state, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

static void test_marked_as_ours(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    assert_int_equal(store_file_number(store, "PRAGMA application_id"), 0x4E435046);
    assert_int_equal(store_file_number(store, "PRAGMA user_version"), store_file_newest());
    assert_string_equal(store_path(store), *state);
    store_close(store);
}

static void test_missing_is_made_only_on_request(void **state)
{
    refuse_missing(state, STORE_WRITE);
    refuse_missing(state, STORE_READ);
    assert_int_equal(access(*state, F_OK), -1);
}

static void test_text_is_refused_and_kept(void **state)
{
    put_file(state,
             "these are notes, not a database; they are long enough to hold a header of a hundred bytes, "
             "so that nothing takes them for a short file");
    refuse(state, STORE_CREATE, "not an SQLite database");
    refuse(state, STORE_READ, "not an SQLite database");
    char begin[6] = "";
    FILE *file = fopen(*state, "r");
    assert_non_null(fgets(begin, sizeof begin, file));
    fclose(file);
    assert_string_equal(begin, "these");
}

static void test_empty_file(void **state)
{
    put_file(state, "");
    refuse(state, STORE_READ, "empty");
    refuse(state, STORE_WRITE, "empty");
    store_close(store_file_open(state, STORE_CREATE));
    store_close(store_file_open(state, STORE_READ));
}

/* Changes a header number of a valid store. */
static void spoil(void **state, const char *pragma)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    assert_int_equal(store_execute(store, pragma, NULL), 0);
    store_close(store);
}

static void test_foreign_database_is_refused(void **state)
{
    spoil(state, "PRAGMA application_id = 7");
    refuse(state, STORE_CREATE, "other program");
    refuse(state, STORE_READ, "other program");
}

static void test_newer_schema_is_refused(void **state)
{
    spoil(state, "PRAGMA user_version = 99");
    refuse(state, STORE_CREATE, "newer ncclprof");
    refuse(state, STORE_READ, "version 99");
}

static void test_directory_is_refused(void **state)
{
    assert_int_equal(mkdir(*state, 0700), 0);
    refuse(state, STORE_READ, "a directory");
    refuse(state, STORE_CREATE, "Is a directory");
    assert_int_equal(rmdir(*state), 0);
}

static void test_pipe_is_refused_without_waiting(void **state)
{
    assert_int_equal(mkfifo(*state, 0600), 0);
    refuse(state, STORE_READ, "a device or pipe");
    refuse(state, STORE_CREATE, "a device or pipe");
}

static void test_reading_changes_nothing(void **state)
{
    store_close(store_file_open(state, STORE_CREATE));
    struct store *store = store_file_open(state, STORE_READ);
    struct error error = ERROR_INIT;
    assert_int_equal(store_execute(store, "DELETE FROM vocabulary", &error), -1);
    assert_non_null(strstr(error.cause[0], "readonly"));
    store_close(store);
}

static void test_transactions(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    store_rollback(store);
    assert_int_equal(store_begin(store, NULL), 0);
    assert_int_equal(store_set_fact(store, "x", 1, NULL), 0);
    store_rollback(store);
    int64_t value;
    assert_int_equal(store_fact(store, "x", -5, &value, NULL), 0);
    assert_int_equal(value, -5);
    assert_int_equal(store_begin(store, NULL), 0);
    assert_int_equal(store_set_fact(store, "x", INT64_MIN, NULL), 0);
    assert_int_equal(store_commit(store, NULL), 0);
    assert_int_equal(store_fact(store, "x", -5, &value, NULL), 0);
    assert_true(value == INT64_MIN);
    store_close(store);
}

static void test_values_come_back(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    struct statement *statement = store_prepare(store, "SELECT ?, ?, ?, ?, ? AS last", NULL);
    size_t length;
    assert_int_equal(statement_bind_integer(statement, 1, INT64_MAX, NULL), 0);
    assert_int_equal(statement_bind_null(statement, 2, NULL), 0);
    assert_int_equal(statement_bind_text(statement, 3, "it's", NULL), 0);
    assert_int_equal(statement_bind_blob(statement, 4, "a\0b", 3, NULL), 0);
    assert_int_equal(statement_bind_text(statement, 5, NULL, NULL), 0);
    assert_int_equal(statement_bind_null(statement, 6, NULL), -1);
    assert_int_equal(statement_step(statement, NULL), 1);
    assert_true(statement_integer(statement, 0) == INT64_MAX);
    assert_true(statement_integer_or(statement, 0, -1) == INT64_MAX);
    assert_int_equal(statement_integer_or(statement, 4, -1), -1);
    assert_string_equal(statement_text(statement, 2), "it's");
    assert_memory_equal(statement_blob(statement, 3, &length), "a\0b", 3);
    assert_int_equal(length, 3);
    assert_true(statement_is_null(statement, 4));
    assert_null(statement_text(statement, 4));
    assert_int_equal(statement_step(statement, NULL), 0);
    statement_free(statement);
    store_close(store);
}

static void test_bad_sql_is_told(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    struct error error = ERROR_INIT;
    assert_null(store_prepare(store, "SELECT nonsense", &error));
    assert_non_null(strstr(error.cause[0], "no such column: nonsense"));
    store_close(store);
}

/* Every view can be prepared, also in an empty store. */
static void test_views_stand(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    for (size_t i = 0; store_views[i].name; i++) {
        char sql[80];
        snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", store_views[i].name);
        assert_int_equal(store_file_number(store, sql), 0);
    }
    assert_int_equal(
        store_file_number(store,
                          "SELECT count(*) FROM vocabulary WHERE kind = 'function' AND name = 'AllReduce'"),
        1);
    store_close(store);
}

/*
 * A store made before a collective was added does not have its name; the next write adds it.
 */
static void test_new_words_are_added(void **state)
{
    static const char of_barrier[] =
        "SELECT count(*) FROM vocabulary WHERE kind = 'function' AND name = 'Barrier'";
    struct store *store = store_file_open(state, STORE_CREATE);
    assert_int_equal(store_execute(store, "DELETE FROM vocabulary WHERE name = 'Barrier'", NULL), 0);
    store_close(store);
    store = store_file_open(state, STORE_READ);
    assert_int_equal(store_file_number(store, of_barrier), 0);
    store_close(store);
    store = store_file_open(state, STORE_WRITE);
    assert_int_equal(store_file_number(store, of_barrier), 1);
    store_close(store);
}

/* Two connections: the second one finds the store locked, waits, and names the process that locks it. */
static void test_reader_sees_whole_transactions(void **state)
{
    struct store *writer = store_file_open(state, STORE_CREATE);
    struct store *reader = store_file_open(state, STORE_READ);
    assert_int_equal(store_begin(writer, NULL), 0);
    assert_int_equal(store_set_fact(writer, "x", 1, NULL), 0);
    assert_int_equal(store_file_number(reader, "SELECT count(*) FROM fact"), 0);
    assert_int_equal(store_commit(writer, NULL), 0);
    assert_int_equal(store_file_number(reader, "SELECT count(*) FROM fact"), 1);
    store_close(reader);
    store_close(writer);
}

#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, store_file_setup, store_file_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FILE(test_made_private),
        WITH_FILE(test_marked_as_ours),
        WITH_FILE(test_missing_is_made_only_on_request),
        WITH_FILE(test_text_is_refused_and_kept),
        WITH_FILE(test_empty_file),
        WITH_FILE(test_foreign_database_is_refused),
        WITH_FILE(test_newer_schema_is_refused),
        WITH_FILE(test_directory_is_refused),
        WITH_FILE(test_pipe_is_refused_without_waiting),
        WITH_FILE(test_reading_changes_nothing),
        WITH_FILE(test_transactions),
        WITH_FILE(test_values_come_back),
        WITH_FILE(test_bad_sql_is_told),
        WITH_FILE(test_views_stand),
        WITH_FILE(test_new_words_are_added),
        WITH_FILE(test_reader_sees_whole_transactions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

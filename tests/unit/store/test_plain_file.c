#include "model/model.h"
#include "store/sqlite.h"
#include "store/store.h"

#include "support/cmocka_all.h"
#include "support/store_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct column columns[] = {
    {.name = "id", .type = CELL_INTEGER, .description = "number"},
    {.name = "text", .type = CELL_TEXT, .description = "words"},
    {.name = "took_us", .type = CELL_REAL, .unit = "us", .description = "length"},
};
static const struct view view = {.name = "some",
                                 .description = "a thing",
                                 .columns = columns,
                                 .column_count = 3,
                                 .keys = {"text, took_us"},
                                 .has_number = 1};

static char path[] = "/tmp/ncclprof-plain-XXXXXX";
static int descriptor;

/* The only value of the result, from a file opened with plain SQLite. */
static void assert_answer(const char *sql, const char *expected)
{
    sqlite3 *handle;
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_open_v2(path, &handle, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(handle, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(statement, 0), expected);
    sqlite3_finalize(statement);
    sqlite3_close(handle);
}

static void fill(void **state, const char *sql, int64_t expected)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    struct statement *rows = store_prepare(store, sql, NULL);
    struct plain_file *file = plain_file_open(descriptor, NULL);
    int64_t count = -1;
    assert_non_null(file);
    int failed = plain_file_add(file, &view, rows, &count, NULL);
    assert_int_equal(failed, expected < 0 ? -1 : 0);
    if (failed) {
        plain_file_discard(file);
    } else {
        assert_int_equal(count, expected);
        assert_int_equal(plain_file_close(file, NULL), 0);
    }
    statement_free(rows);
    store_close(store);
}

static void test_rows_stay_as_they_are(void **state)
{
    fill(state,
         "SELECT 9223372036854775807, 'a' || char(10) || x'ff', 0.1 UNION ALL SELECT 2, NULL, 5.0 "
         "UNION ALL SELECT 3, CAST(x'61ff' AS TEXT), NULL",
         3);
    assert_answer("PRAGMA integrity_check", "ok");
    assert_answer("SELECT group_concat(id, ' ') FROM (SELECT id FROM some ORDER BY id)",
                  "2 3 9223372036854775807");
    assert_answer("SELECT quote(text) || typeof(took_us) FROM some WHERE id = 2", "NULLreal");
    assert_answer("SELECT text FROM some WHERE id = 3", "a\xef\xbf\xbd");
    assert_answer("SELECT took_us = 0.1 FROM some WHERE took_us < 1", "1");
    assert_answer("SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND sql LIKE '%(text, took_us)'",
                  "1");
}

static void test_columns_are_described(void **state)
{
    fill(state, "SELECT 1, 'x', 1.5", 1);
    assert_answer("SELECT count(*) FROM description", "4");
    assert_answer("SELECT text FROM description WHERE \"table\" = 'some' AND \"column\" IS NULL", "a thing");
    assert_answer("SELECT unit || ' ' || text FROM description WHERE \"column\" = 'took_us'", "us length");
}

static void test_a_number_twice_is_refused(void **state)
{
    fill(state, "SELECT 1, 'x', 1.5 UNION ALL SELECT 1, 'y', 1.5", -1);
}

static int make(void **state)
{
    memset(path + strlen(path) - 6, 'X', 6);
    descriptor = mkstemp(path);
    return descriptor < 0 || store_file_setup(state);
}

static int drop(void **state)
{
    close(descriptor);
    unlink(path);
    return store_file_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rows_stay_as_they_are, make, drop),
        cmocka_unit_test_setup_teardown(test_columns_are_described, make, drop),
        cmocka_unit_test_setup_teardown(test_a_number_twice_is_refused, make, drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "support/cmocka_all.h"
#include "support/store_file.h"

#include "base/base.h"
#include "model/model.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int never(void *context)
{
    return 0;
}

static int at_once(void *context)
{
    return 1;
}

static const struct query_limits patient = {.seconds = 20, .wanted = never};

static struct store *open_store(void **state)
{
    store_close(store_file_open(state, STORE_CREATE));
    return store_file_open(state, STORE_READ);
}

/* Each of these must be refused before it does anything. */
static void test_only_reading(void **state)
{
    static const char *const refused[] = {
        "DROP TABLE file",
        "INSERT INTO fact VALUES ('x', 1)",
        "UPDATE file SET path = ''",
        "DELETE FROM file",
        "CREATE TABLE t (x)",
        "CREATE TEMP TABLE t (x)",
        "CREATE TEMP VIEW t AS SELECT 1",
        "ATTACH '/tmp/ncclprof-attached.db' AS other",
        "DETACH main",
        "PRAGMA user_version = 5",
        "PRAGMA query_only = OFF",
        "SELECT * FROM pragma_table_info('file')",
        "VACUUM",
        "VACUUM INTO '/tmp/ncclprof-vacuumed.db'",
        "BEGIN IMMEDIATE",
        "SAVEPOINT x",
        "REINDEX",
        "ANALYZE",
        "SELECT load_extension('x')",
        "SELECT fts3_tokenizer('simple')",
        "WITH x AS (SELECT 1) DELETE FROM file",
        "SELECT 1; SELECT 2",
        "SELECT 1; DROP TABLE file",
        "",
        " ; -- nothing",
        "nonsense",
        "SELECT zeroblob(900000000)",
    };
    struct store *store = open_store(state);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct error error = ERROR_INIT;
        struct query *query = query_open(store, refused[i], &patient, &error);
        const struct cell *cells;
        int more = query ? query_next(query, &cells, &error) : -1;
        if (more != -1)
            print_error("not refused: %s\n", refused[i]);
        assert_int_equal(more, -1);
        assert_int_equal(error.depth, 1);
        query_close(query);
    }
    assert_int_equal(access("/tmp/ncclprof-attached.db", F_OK), -1);
    assert_int_equal(access("/tmp/ncclprof-vacuumed.db", F_OK), -1);
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM fact"), 0);
    store_close(store);
}

static void test_reading_goes_through(void **state)
{
    static const char *const allowed[] = {
        "SELECT 1 -- with a comment",
        "SELECT 1;  ",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT max(i) FROM n",
        "EXPLAIN QUERY PLAN SELECT * FROM v_operation",
        "SELECT name, sql FROM sqlite_schema",
        "SELECT upper(name), row_number() OVER (ORDER BY name) FROM vocabulary",
        "VALUES (1), (2)",
    };
    struct store *store = open_store(state);
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
        struct error error = ERROR_INIT;
        const struct cell *cells;
        struct query *query = query_open(store, allowed[i], &patient, &error);
        if (!query)
            print_error("%s: %s\n", allowed[i], error.cause[0]);
        assert_non_null(query);
        assert_int_equal(query_next(query, &cells, &error), 1);
        query_close(query);
    }
    store_close(store);
}

static void test_values_are_exact(void **state)
{
    struct store *store = open_store(state);
    struct error error = ERROR_INIT;
    const struct cell *cells;
    struct query *query = query_open(store,
                                     "SELECT 9223372036854775807 AS a, -9223372036854775808 AS a, 0.5 AS a, "
                                     "'t' AS b, x'00ff' AS c, NULL AS d",
                                     &patient, &error);
    assert_non_null(query);
    const struct table *head = query_head(query);
    assert_int_equal(head->column_count, 6);
    assert_string_equal(head->columns[0].name, "a");
    assert_string_equal(head->columns[1].name, "a_2");
    assert_string_equal(head->columns[2].name, "a_3");
    assert_int_equal(query_next(query, &cells, &error), 1);
    assert_true(cells[0].type == CELL_INTEGER && cells[0].integer == INT64_MAX);
    assert_true(cells[1].type == CELL_INTEGER && cells[1].integer == INT64_MIN);
    assert_true(cells[2].type == CELL_REAL && cells[2].real == 0.5);
    assert_string_equal(cells[3].text, "t");
    assert_string_equal(cells[4].text, "x'00ff'");
    assert_int_equal(cells[5].type, CELL_NULL);
    assert_int_equal(query_next(query, &cells, &error), 0);
    query_close(query);
    store_close(store);
}

static void run_endless(void **state, const struct query_limits *limits, const char *says, int stopped)
{
    struct store *store = open_store(state);
    struct error error = ERROR_INIT;
    const struct cell *cells;
    struct query *query = query_open(
        store, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
        limits, &error);
    assert_non_null(query);
    assert_int_equal(query_next(query, &cells, &error), -1);
    assert_non_null(strstr(error.cause[0], says));
    assert_int_equal(query_stopped(query), stopped);
    query_close(query);
    /* The connection still works. */
    assert_int_equal(store_file_number(store, "SELECT 5"), 5);
    store_close(store);
}

static void test_time_limit(void **state)
{
    run_endless(state, &(struct query_limits){.seconds = 1}, "longer than 1 s", 0);
}

static void test_interruption(void **state)
{
    run_endless(state, &(struct query_limits){.wanted = at_once}, "interrupted", 1);
}

#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, store_file_setup, store_file_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FILE(test_only_reading), WITH_FILE(test_reading_goes_through), WITH_FILE(test_values_are_exact),
        WITH_FILE(test_time_limit),   WITH_FILE(test_interruption),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "support/cmocka_all.h"
#include "support/store_file.h"

#include <string.h>

/* The first column of the only row of the statement. */
static int64_t number_for(struct store *store, const char *sql, int64_t run_id)
{
    struct statement *statement = store_prepare_for(store, sql, run_id, NULL);
    assert_non_null(statement);
    assert_int_equal(statement_step(statement, NULL), 1);
    int64_t number = statement_integer(statement, 0);
    statement_free(statement);
    return number;
}

static void test_run_is_bound(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    assert_int_equal(number_for(store, "SELECT ?1", 7), 7);
    assert_int_equal(number_for(store, "SELECT ?1 = 7 AND ?2 IS NULL", 7), 1);
    assert_int_equal(number_for(store, "SELECT ?1 IS NULL", 7), 0);
    store_close(store);
}

static void test_no_run_is_null(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    assert_int_equal(number_for(store, "SELECT ?1 IS NULL", 0), 1);
    assert_int_equal(number_for(store, "SELECT 5", 0), 5);
    store_close(store);
}

/* A run, for a statement without a parameter for it. */
static void test_failure_to_bind_is_told(void **state)
{
    struct error error = ERROR_INIT;
    struct store *store = store_file_open(state, STORE_CREATE);
    assert_null(store_prepare_for(store, "SELECT 5", 7, &error));
    assert_non_null(strstr(error.cause[0], "cannot bind a value to 'SELECT 5'"));
    store_close(store);
}

static void test_done_can_be_bound_anew(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    struct statement *statement = store_prepare(store, "SELECT ?1 WHERE ?1 > 1", NULL);
    assert_non_null(statement);
    for (int64_t value = 0; value < 4; value++) {
        assert_int_equal(statement_bind_integer(statement, 1, value, NULL), 0);
        assert_int_equal(statement_step(statement, NULL), value > 1);
        if (value > 1) {
            assert_int_equal(statement_integer(statement, 0), value);
            assert_int_equal(statement_step(statement, NULL), 0);
        }
    }
    statement_free(statement);
    store_close(store);
}

/* Empty and NULL are different. */
static void test_null_is_no_value(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    struct statement *statement = store_prepare(store, "SELECT ?1, ?2, ?3, 0", NULL);
    assert_non_null(statement);
    assert_int_equal(statement_bind_text(statement, 1, NULL, NULL), 0);
    assert_int_equal(statement_bind_text(statement, 2, "", NULL), 0);
    assert_int_equal(statement_bind_blob(statement, 3, NULL, 0, NULL), 0);
    assert_int_equal(statement_step(statement, NULL), 1);
    assert_true(statement_is_null(statement, 0));
    assert_null(statement_text(statement, 0));
    assert_int_equal(statement_integer_or(statement, 0, -3), -3);
    assert_string_equal(statement_text(statement, 1), "");
    assert_false(statement_is_null(statement, 2));
    assert_int_equal(statement_integer_or(statement, 3, -3), 0);
    statement_free(statement);
    store_close(store);
}

#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, store_file_setup, store_file_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FILE(test_run_is_bound),
        WITH_FILE(test_no_run_is_null),
        WITH_FILE(test_failure_to_bind_is_told),
        WITH_FILE(test_done_can_be_bound_anew),
        WITH_FILE(test_null_is_no_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

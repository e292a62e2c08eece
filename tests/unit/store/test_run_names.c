#include "base/base.h"
#include "store/store.h"

#include "support/cmocka_all.h"
#include "support/store_file.h"

#include <stdlib.h>

static struct store *open_with(void **state, const char *rows)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    assert_int_equal(store_execute(store, rows, NULL), 0);
    return store;
}

#define RUN(number, name) "(" #number ", 1, 1, 0, 'none', 1, " name ")"
#define RUNS                                                                                             \
    "INSERT INTO run (run_id, rank_count, expected_ranks, step_count, step_source, global_ranks, name) " \
    "VALUES "

static int64_t found(struct store *store, const char *text)
{
    int64_t id;
    return run_find(store, text, &id, NULL) ? -1 : id;
}

static void test_by_name_or_number(void **state)
{
    struct store *store = open_with(state, RUNS RUN(3, "'traces'") "," RUN(14, "NULL"));
    assert_int_equal(found(store, "traces"), 3);
    assert_int_equal(found(store, "3"), 3);
    assert_int_equal(found(store, "14"), 14);
    static const char *const none[] = {
        "trace", "Traces", "4", "", "0", "-3", "3x", " 3", "99999999999999999999", "+3"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(found(store, none[i]), -1);
    store_close(store);
}

static void check_refusal(struct store *store, const char *expected)
{
    struct error error = ERROR_INIT;
    int64_t id;
    assert_int_equal(run_find(store, "x", &id, &error), -1);
    assert_string_equal(error.cause[0], expected);
}

static void test_which_there_are_is_told(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    check_refusal(store, "no run 'x'; runs in the store: none");
    assert_int_equal(store_execute(store, RUNS RUN(2, "'b'") "," RUN(1, "NULL"), NULL), 0);
    check_refusal(store, "no run 'x'; runs in the store: 1, 2 (b)");
    assert_int_equal(store_execute(store, RUNS RUN(3, "'c'") "," RUN(4, "'d'") "," RUN(5, "'e'"), NULL), 0);
    check_refusal(store,
                  "no run 'x'; runs in the store: 1, 2 (b), 3 (c), 4 (d) and 1 more (ncclprof info --runs)");
    store_close(store);
}

static void test_a_list(void **state)
{
    struct store *store = open_with(state, RUNS RUN(1, "'a'") "," RUN(2, "'b'"));
    int64_t *ids;
    size_t count;
    assert_int_equal(run_find_all(store, "b,1,2", &ids, &count, NULL), 0);
    assert_int_equal(count, 2);
    assert_int_equal(ids[0], 2);
    assert_int_equal(ids[1], 1);
    free(ids);
    static const char *const wrong[] = {"", "a,", ",a", "a,,b", "a;b", "a,x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(run_find_all(store, wrong[i], &ids, &count, NULL), -1);
        assert_null(ids);
    }
    store_close(store);
}

#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, store_file_setup, store_file_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FILE(test_by_name_or_number),
        WITH_FILE(test_which_there_are_is_told),
        WITH_FILE(test_a_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

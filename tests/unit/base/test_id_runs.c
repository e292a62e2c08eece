#include "base/base.h"

#include "support/cmocka_all.h"

/* Consecutive ids, gaps, and the ends of the range: all are found, in any order of lookups. */
static const int64_t IDS[] = {INT64_MIN, INT64_MIN + 1, -3, 7, 8, 9, 1LL << 32, (1LL << 32) + 1, INT64_MAX};

enum { COUNT = sizeof IDS / sizeof *IDS, RUNS = 5 };

static struct id_runs filled(void)
{
    struct id_runs runs = {0};
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(id_runs_add(&runs, IDS[i]), 0);
    return runs;
}

static void finds_each_after_any_other(void **state)
{
    (void)state;
    struct id_runs runs = filled();
    assert_int_equal(runs.count, COUNT);
    for (size_t before = 0; before < COUNT; before++)
        for (size_t i = 0; i < COUNT; i++) {
            assert_int_equal(id_runs_find(&runs, IDS[before]), before);
            assert_int_equal(id_runs_find(&runs, IDS[i]), i);
            assert_true(id_runs_at(&runs, i) == IDS[i]);
        }
    id_runs_release(&runs);
}

static void finds_nothing_else(void **state)
{
    static const int64_t absent[] = {INT64_MIN + 2,   -4,           -2, 0, 6, 10, (1LL << 32) - 1,
                                     (1LL << 32) + 2, INT64_MAX - 1};
    (void)state;
    struct id_runs runs = filled();
    for (size_t before = 0; before < COUNT; before++)
        for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
            id_runs_find(&runs, IDS[before]);
            assert_int_equal(id_runs_find(&runs, absent[i]), -1);
        }
    id_runs_release(&runs);
    assert_int_equal(id_runs_find(&runs, 7), -1);
}

static void ids_in_a_row_take_no_room(void **state)
{
    (void)state;
    struct id_runs runs = filled();
    assert_int_equal(runs.run_count, RUNS);
    id_runs_release(&runs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_each_after_any_other),
        cmocka_unit_test(finds_nothing_else),
        cmocka_unit_test(ids_in_a_row_take_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

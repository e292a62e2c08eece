#include "model/model.h"

#include "support/cmocka_all.h"

/* Lists of intervals: merged, searched, and measured. */

static void overlapping_touching_and_near_intervals_merge(void **state)
{
    (void)state;
    struct interval_ns list[] = {{30, 40}, {5, 5}, {10, 20}, {12, 15}, {20, 25}, {41, 50}};
    intervals_sort(list, 6);
    assert_int_equal(intervals_merge(list, 6, 0), 3);
    assert_int_equal(list[0].begin_ns, 10);
    assert_int_equal(list[0].end_ns, 25);
    assert_int_equal(list[1].end_ns, 40);
    assert_int_equal(intervals_merge(list, 3, 1), 2);
    assert_int_equal(list[1].begin_ns, 30);
    assert_int_equal(list[1].end_ns, 50);
}

static void intervals_at_both_ends_of_time_stay_apart(void **state)
{
    (void)state;
    struct interval_ns list[] = {{INT64_MIN, INT64_MIN + 1}, {INT64_MAX - 1, INT64_MAX}};
    assert_int_equal(intervals_merge(list, 2, INT64_MAX), 2);
}

static void covered_time_is_cut_at_both_ends(void **state)
{
    (void)state;
    const struct interval_ns list[] = {{10, 20}, {30, 40}, {50, 60}};
    assert_int_equal(intervals_first_after(list, 3, 20), 1);
    assert_int_equal(intervals_first_after(list, 3, 60), 3);
    assert_int_equal(intervals_covered_ns(list, 3, (struct interval_ns){15, 55}), 5 + 10 + 5);
    assert_int_equal(intervals_covered_ns(list, 3, (struct interval_ns){20, 30}), 0);
    assert_int_equal(intervals_covered_ns(NULL, 0, (struct interval_ns){0, 100}), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overlapping_touching_and_near_intervals_merge),
        cmocka_unit_test(intervals_at_both_ends_of_time_stay_apart),
        cmocka_unit_test(covered_time_is_cut_at_both_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "report/timeline.h"

#include "support/cmocka_all.h"

static void test_the_first_that_is_free(void **state)
{
    struct lanes lanes = {.count = 0};
    assert_int_equal(lanes_place(&lanes, 0, 10), 0);
    assert_int_equal(lanes_place(&lanes, 5, 20), 1);
    assert_int_equal(lanes_place(&lanes, 10, 12), 0);
    assert_int_equal(lanes_place(&lanes, 11, 13), 2);
    assert_int_equal(lanes_place(&lanes, 30, 31), 0);
    assert_int_equal(lanes.count, 3);
}

static void test_what_never_ends_keeps_its_place(void **state)
{
    struct lanes lanes = {.count = 0};
    assert_int_equal(lanes_place(&lanes, 0, INT64_MAX), 0);
    assert_int_equal(lanes_place(&lanes, INT64_MAX - 1, INT64_MAX), 1);
}

static void test_no_more_than_so_many(void **state)
{
    struct lanes lanes = {.count = 0};
    for (int i = 0; i < LANES_MOST; i++)
        assert_int_equal(lanes_place(&lanes, 0, 10), i);
    assert_int_equal(lanes_place(&lanes, 0, 10), -1);
    assert_int_equal(lanes_place(&lanes, 10, 11), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_that_is_free),
        cmocka_unit_test(test_what_never_ends_keeps_its_place),
        cmocka_unit_test(test_no_more_than_so_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

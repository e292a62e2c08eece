#include "model/model.h"

#include "support/cmocka_all.h"

static void check(const struct communicator_life *lives, size_t count, const int32_t *expected)
{
    int32_t first_of[8];
    assert_true(count <= 8);
    assert_int_equal(succession_find(lives, count, first_of), 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(first_of[i], expected[i]);
}

static void one_after_the_other(void **state)
{
    /* In any order; the last two have other ranks. */
    const struct communicator_life lives[] = {{7, 20, 29}, {7, 0, 9}, {7, 10, 19}, {8, 30, 39}, {8, 0, 9}};
    check(lives, 5, (const int32_t[]){1, 1, 1, 4, 4});
}

static void side_by_side(void **state)
{
    const struct communicator_life lives[] = {{7, 0, 9}, {7, 5, 15}, {7, 9, 12}};
    check(lives, 3, (const int32_t[]){0, 1, 2});
}

/* Two of the same ranks, for two purposes, recreated in the same order. */
static void in_the_order_of_their_begins(void **state)
{
    const struct communicator_life lives[] = {{7, 1, 19}, {7, 0, 18}, {7, 21, 39}, {7, 20, 38}};
    check(lives, 4, (const int32_t[]){0, 1, 0, 1});
}

/* One continues to exist: only ended ones are succeeded. */
static void what_lives_on_is_not_succeeded(void **state)
{
    const struct communicator_life lives[] = {{7, 0, 99}, {7, 1, 49}, {7, 50, 98}};
    check(lives, 3, (const int32_t[]){0, 1, 1});
}

static void none(void **state)
{
    check(NULL, 0, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_after_the_other),
        cmocka_unit_test(side_by_side),
        cmocka_unit_test(in_the_order_of_their_begins),
        cmocka_unit_test(what_lives_on_is_not_succeeded),
        cmocka_unit_test(none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "base/base.h"

#include "support/cmocka_all.h"

enum { COUNT = 6 };

static void each_stands_for_itself(void **state)
{
    int32_t parent[COUNT];
    disjoint_init(parent, COUNT);
    for (int32_t i = 0; i < COUNT; i++)
        assert_int_equal(disjoint_root(parent, i), i);
}

static void the_least_stands_for_all(void **state)
{
    int32_t parent[COUNT];
    disjoint_init(parent, COUNT);
    assert_true(disjoint_unite(parent, 5, 3));
    assert_true(disjoint_unite(parent, 4, 5));
    assert_true(disjoint_unite(parent, 1, 4));
    /* They are one set already. */
    assert_false(disjoint_unite(parent, 3, 1));
    assert_false(disjoint_unite(parent, 5, 5));
    for (int32_t i = 1; i < COUNT; i++)
        assert_int_equal(disjoint_root(parent, i), i == 2 ? 2 : 1);
    assert_int_equal(disjoint_root(parent, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_stands_for_itself),
        cmocka_unit_test(the_least_stands_for_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "base/base.h"

#include "support/cmocka_all.h"

struct item {
    int64_t id;
    int32_t other;
};

/* Two runs of consecutive ids, far apart, and gaps: all are found, from any previous position. */
static const struct item ITEMS[] = {
    {INT64_MIN, 0}, {-3, 0}, {7, 0}, {8, 0}, {9, 0}, {(1LL << 32), 0}, {(1LL << 32) + 1, 0}, {INT64_MAX, 0}};

enum { COUNT = sizeof ITEMS / sizeof *ITEMS };

static void finds_each_from_anywhere(void **state)
{
    (void)state;
    for (size_t near = 0; near < COUNT; near++)
        for (size_t i = 0; i < COUNT; i++)
            assert_int_equal(find_id(ITEMS, COUNT, sizeof *ITEMS, near, ITEMS[i].id), i);
}

static void finds_nothing_else(void **state)
{
    static const int64_t absent[] = {INT64_MIN + 1,   -4,           -2, 0, 6, 10, (1LL << 32) - 1,
                                     (1LL << 32) + 2, INT64_MAX - 1};
    (void)state;
    for (size_t near = 0; near <= COUNT; near++)
        for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
            assert_int_equal(find_id(ITEMS, COUNT, sizeof *ITEMS, near, absent[i]), -1);
    assert_int_equal(find_id(NULL, 0, sizeof *ITEMS, 0, 7), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_each_from_anywhere),
        cmocka_unit_test(finds_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "base/base.h"

#include "support/cmocka_all.h"

#include <string.h>

enum { MOST = 200 };

static struct sort_entry items[MOST], expected[MOST], scratch[MOST];

/* By definition: each is inserted before the first later one. */
static void insert_all(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = i;
        for (; at > 0 && expected[at - 1].key > items[i].key; at--)
            expected[at] = expected[at - 1];
        expected[at] = items[i];
    }
}

static void check(size_t count)
{
    insert_all(count);
    sort_entries(items, scratch, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(items[i].key, expected[i].key);
        assert_int_equal(items[i].index, expected[i].index);
    }
}

static void sorts_any_order(void **state)
{
    (void)state;
    uint32_t random = 1;
    for (size_t count = 0; count <= MOST; count++) {
        for (size_t i = 0; i < count; i++) {
            random = random * 1664525 + 1013904223;
            items[i] = (struct sort_entry){(int64_t)(random >> 24) - 128, (int32_t)i};
        }
        check(count);
    }
}

/* Like traces: some ascending runs one after the other, with equal times and extremes among them. */
static void sorts_runs(void **state)
{
    (void)state;
    for (size_t runs = 1; runs <= 7; runs++) {
        size_t length = MOST / runs;
        for (size_t i = 0; i < runs * length; i++)
            items[i] = (struct sort_entry){(int64_t)(i % length / 2), (int32_t)i};
        items[0].key = INT64_MIN;
        items[length - 1].key = INT64_MAX;
        check(runs * length);
    }
}

static void sorts_backwards(void **state)
{
    (void)state;
    for (size_t i = 0; i < MOST; i++)
        items[i] = (struct sort_entry){-(int64_t)i, (int32_t)i};
    check(MOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts_any_order),
        cmocka_unit_test(sorts_runs),
        cmocka_unit_test(sorts_backwards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "base/base.h"

#include "support/cmocka_all.h"
#include "support/random.h"

#include <stdint.h>
#include <stdlib.h>

enum { MOST = 70, CASES = 400, VALUES = 40 };

/* Larger than its key. */
struct item {
    char name[11];
    int16_t value;
};

static int is_less(const void *item, const void *value)
{
    return ((const struct item *)item)->value < *(const int16_t *)value;
}

static int is_not_more(const void *item, const void *value)
{
    return ((const struct item *)item)->value <= *(const int16_t *)value;
}

static int by_value(const void *a, const void *b)
{
    return ((const struct item *)a)->value - ((const struct item *)b)->value;
}

/* A linear search gives the same result. */
static size_t count_of(const struct item *items, size_t count, lower_bound_is_before is_before, int16_t value)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += is_before(&items[i], &value) != 0;
    return found;
}

static void finds_where_it_turns(void **state)
{
    struct item items[MOST];
    for (int i = 0; i < CASES; i++) {
        size_t count = random_number() % MOST;
        for (size_t j = 0; j < count; j++)
            items[j].value = (int16_t)((int)(random_number() % VALUES) - VALUES / 2);
        qsort(items, count, sizeof *items, by_value);
        for (int16_t value = -VALUES; value <= VALUES; value++) {
            assert_int_equal(lower_bound(items, count, sizeof *items, is_less, &value),
                             count_of(items, count, is_less, value));
            assert_int_equal(lower_bound(items, count, sizeof *items, is_not_more, &value),
                             count_of(items, count, is_not_more, value));
        }
    }
}

static void of_none_there_is_no_first(void **state)
{
    int16_t value = 3;
    assert_int_equal(lower_bound(NULL, 0, sizeof(struct item), is_less, &value), 0);
}

/* In a wide array few items are examined. */
static int looked_at;

static int is_less_counted(const void *item, const void *value)
{
    looked_at++;
    return *(const int32_t *)item < *(const int32_t *)value;
}

static void looks_at_few(void **state)
{
    enum { MANY = 1 << 16 };
    int32_t *many = malloc(MANY * sizeof *many), value = 40000;
    assert_non_null(many);
    for (int32_t i = 0; i < MANY; i++)
        many[i] = i;
    looked_at = 0;
    assert_int_equal(lower_bound(many, MANY, sizeof *many, is_less_counted, &value), 40000);
    assert_in_range(looked_at, 1, 17);
    free(many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_where_it_turns),
        cmocka_unit_test(of_none_there_is_no_first),
        cmocka_unit_test(looks_at_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "base/base.h"

#include "support/cmocka_all.h"

#include <string.h>

enum { MOST = 3000 };

static int64_t values[MOST], before[MOST], picked[MOST];
static double reals[MOST];

/* In order, and each value as often as before, counted one by one. */
static void check(size_t count)
{
    uint64_t sum_before = 0, sum_after = 0, mixed_before = 0, mixed_after = 0;
    memcpy(before, values, sizeof before);
    sort_integers(values, count);
    for (size_t rank = 0; rank < count; rank += 1 + count / 7) {
        memcpy(picked, before, sizeof picked);
        assert_int_equal(select_integer(picked, count, rank), values[rank]);
        for (size_t i = 0; i < count; i++)
            reals[i] = (double)before[i];
        assert_true(select_real(reals, count, rank) == (double)values[rank]);
    }
    for (size_t i = 0; i < count; i++) {
        assert_true(i == 0 || values[i - 1] <= values[i]);
        sum_before += (uint64_t)before[i];
        sum_after += (uint64_t)values[i];
        mixed_before += (uint64_t)before[i] * (uint64_t)before[i] * 0x9e3779b97f4a7c15;
        mixed_after += (uint64_t)values[i] * (uint64_t)values[i] * 0x9e3779b97f4a7c15;
    }
    assert_int_equal(sum_before, sum_after);
    assert_int_equal(mixed_before, mixed_after);
    for (size_t i = count; i < MOST; i++)
        assert_int_equal(values[i], before[i]);
}

static void sorts_random_values(void **state)
{
    (void)state;
    uint64_t random = 1;
    for (size_t count = 0; count <= MOST; count += count < 100 ? 1 : 97)
        for (unsigned shift = 0; shift < 64; shift += 15) {
            for (size_t i = 0; i < MOST; i++) {
                random = random * 6364136223846793005 + 1442695040888963407;
                values[i] = (int64_t)random >> shift;
            }
            check(count);
        }
}

static void sorts_regular_values(void **state)
{
    (void)state;
    for (int form = 0; form < 6; form++) {
        for (int64_t i = 0; i < MOST; i++)
            values[i] = form == 0   ? i
                        : form == 1 ? -i
                        : form == 2 ? 7
                        : form == 3 ? i % 10
                        : form == 4 ? (i < MOST / 2 ? i : MOST - i)
                                    : (i % 2 ? INT64_MAX : INT64_MIN);
        check(MOST);
    }
}

/* Musser's sequence, for which the median of three is always one of the two smallest. */
static void sorts_what_divides_badly(void **state)
{
    (void)state;
    int64_t half = MOST / 2;
    for (int64_t i = 0; i < half; i++) {
        values[i] = i % 2 ? half + i + (half % 2 ? 0 : 1) : i + 1;
        values[half + i] = 2 * (i + 1);
    }
    check(MOST);
}

static void finds_what_is_usual(void **state)
{
    (void)state;
    const int64_t sorted[] = {-5, 1, 1, 2, 2, 3, 3, 3};
    assert_int_equal(most_frequent_integer(sorted, 0), 0);
    assert_int_equal(most_frequent_integer(sorted, 1), -5);
    assert_int_equal(most_frequent_integer(sorted, 2), -5);
    assert_int_equal(most_frequent_integer(sorted, 7), 1);
    assert_int_equal(most_frequent_integer(sorted, 8), 3);
}

/* By value, not by sign or size; none of an empty list. */
static void sorts_reals(void **state)
{
    static const double sorted[] = {-2.5, -0.5, 0, 1e-300, 0.25, 0.25, 1e300};
    double few[] = {0.25, 1e300, -0.5, 0, 0.25, -2.5, 1e-300};
    (void)state;
    sort_reals(NULL, 0);
    sort_reals(few, sizeof few / sizeof *few);
    assert_memory_equal(few, sorted, sizeof sorted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts_reals),          cmocka_unit_test(sorts_random_values),
        cmocka_unit_test(sorts_regular_values), cmocka_unit_test(sorts_what_divides_badly),
        cmocka_unit_test(finds_what_is_usual),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

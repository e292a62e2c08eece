#include "base/base.h"

#include "support/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 200, ROUNDS = 400 };

static int by_value(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* Lists of few and of many values, with many equal ones; how many. */
static size_t make_row(unsigned round, int64_t *values)
{
    size_t count = round % MOST + 1;
    for (size_t i = 0; i < count; i++)
        values[i] = (int64_t)((i * 7919 + round * 104729) % (round % 3 ? 1000003 : 5));
    return count;
}

static int64_t at_part(const int64_t *sorted, size_t count, double part)
{
    return sorted[(size_t)((double)(count - 1) * part)];
}

static void a_quantile_is_where_it_would_stand_sorted(void **state)
{
    static const double parts[] = {0, 0.25, 0.5, 0.75, 1};
    int64_t values[MOST], sorted[MOST], scratch[MOST];
    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t count = make_row(round, values);
        memcpy(sorted, values, sizeof sorted);
        qsort(sorted, count, sizeof *sorted, by_value);
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            memcpy(scratch, values, sizeof scratch);
            assert_int_equal(pick_quantile(scratch, count, parts[i]), at_part(sorted, count, parts[i]));
            memcpy(scratch, values, sizeof scratch);
            assert_int_equal(quantile_of(scratch, count, parts[i]), at_part(sorted, count, parts[i]));
        }
    }
    assert_int_equal(pick_quantile(values, 0, 0.5), INT64_MIN);
}

/* The lower quartile; or, if it is greater, the largest of the lowest tenth, of at least two values. */
static void quiet_is_what_a_fault_of_most_steps_leaves(void **state)
{
    int64_t values[MOST], sorted[MOST], scratch[MOST];
    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t count = make_row(round, values), tenth = count > 20 ? (count - 1) / 10 : 1;
        memcpy(sorted, values, sizeof sorted);
        qsort(sorted, count, sizeof *sorted, by_value);
        int64_t wanted = at_part(sorted, count, 0.25);
        if (count > tenth && sorted[tenth] < wanted)
            wanted = sorted[tenth];
        memcpy(scratch, values, sizeof scratch);
        assert_int_equal(baseline_quantile(scratch, count), wanted);
    }
}

/* For five values, by hand. */
static void the_median_of_the_others(void **state)
{
    int64_t five[] = {8, 1, 16, 4, 2}, two[] = {7, 3}, one = 9;
    struct middles middles = middles_of(five, 5);
    assert_int_equal(median_of_others(&middles, 1), 4);
    assert_int_equal(median_of_others(&middles, 2), 4);
    assert_int_equal(median_of_others(&middles, 4), 2);
    assert_int_equal(median_of_others(&middles, 16), 2);
    assert_int_equal(middles.all, 4);
    middles = middles_of(two, 2);
    assert_int_equal(median_of_others(&middles, 3), 7);
    assert_int_equal(median_of_others(&middles, 7), 3);
    assert_int_equal(middles.all, 3);
    middles = middles_of(&one, 1);
    assert_int_equal(median_of_others(&middles, 9), INT64_MIN);
    assert_int_equal(middles.all, 9);
    assert_int_equal(middles_of(NULL, 0).all, INT64_MIN);
}

/* For any list: sorted, with one of its values left out. */
static void the_median_of_any_others(void **state)
{
    for (unsigned round = 1; round < MOST; round++) {
        int64_t sorted[MOST], scratch[MOST], others[MOST];
        size_t count = make_row(round, sorted);
        memcpy(scratch, sorted, sizeof scratch);
        qsort(sorted, count, sizeof *sorted, by_value);
        struct middles middles = middles_of(scratch, count);
        assert_int_equal(middles.all, sorted[(count - 1) / 2]);
        for (size_t without = 0; without < count; without++) {
            memcpy(others, sorted, without * sizeof *others);
            memcpy(others + without, sorted + without + 1, (count - without - 1) * sizeof *others);
            assert_int_equal(median_of_others(&middles, sorted[without]), others[(count - 2) / 2]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quantile_is_where_it_would_stand_sorted),
        cmocka_unit_test(quiet_is_what_a_fault_of_most_steps_leaves),
        cmocka_unit_test(the_median_of_the_others),
        cmocka_unit_test(the_median_of_any_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

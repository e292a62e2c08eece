#include "report/comparison.h"

#include "support/cmocka_all.h"

#include <math.h>

/* Ten steps are five batches of two, whose medians are 2, 4, 6, 8 and 10: mean 6, variance 10. */
static void errors_are_those_of_batches(void **state)
{
    const double values[] = {1, 3, 3, 5, 5, 7, 7, 9, 9, 11};
    struct step_level level;
    assert_int_equal(level_measure(&level, values, 10), 0);
    assert_float_equal(level.median, 6, 1e-12);
    assert_float_equal(level.error, sqrt(10.0 / 5), 1e-12);
    assert_float_equal(level.freedom, 4, 0);
    assert_int_equal(level.steps, 10);
}

/*
 * Steps that depend on earlier ones: runs of ten equal ones. The plain standard error would treat all 200 as
 * independent.
 */
static void memory_is_not_taken_for_many_steps(void **state)
{
    double remembered[200], plain = sqrt(35.0 / 200);
    struct step_level level;
    for (int i = 0; i < 200; i++)
        remembered[i] = i / 10 * 7 % 20;
    assert_int_equal(level_measure(&level, remembered, 200), 0);
    assert_float_equal(level.freedom, 19, 0);
    /* Each of 0 to 19 occurs once in ten: a variance of 35 among 20 values. */
    assert_float_equal(level.error, sqrt(35.0 / 20), 1e-9);
    assert_true(level.error > 3 * plain);
}

/* One step of a batch of four that takes a hundred times as long changes nothing. */
static void a_long_step_is_shrugged_off(void **state)
{
    double values[40];
    struct step_level level, before;
    for (int i = 0; i < 40; i++)
        values[i] = 100 + i % 4;
    assert_int_equal(level_measure(&before, values, 40), 0);
    values[11] = 10000;
    assert_int_equal(level_measure(&level, values, 40), 0);
    assert_float_equal(level.median, before.median, 0.51);
    assert_float_equal(level.error, before.error, 0.51);
}

static void drift_is_between_thirds(void **state)
{
    const double values[] = {10, 10, 10, 14, 14, 14, 11, 11, 11};
    struct step_level level;
    assert_int_equal(level_measure(&level, values, 9), 0);
    assert_float_equal(level.drift, 4, 1e-12);
}

static void nothing_is_known_of_nothing(void **state)
{
    const double one[] = {5};
    struct step_level level;
    assert_int_equal(level_measure(&level, NULL, 0), 0);
    assert_true(isnan(level.median));
    assert_int_equal(level_measure(&level, one, 1), 0);
    assert_float_equal(level.median, 5, 0);
    assert_float_equal(level.freedom, 0, 0);
    assert_float_equal(level.drift, 0, 0);
}

/*
 * Equal errors with equal degrees of freedom: that of the difference is sqrt(2) times as large, with twice
 * the degrees. The table has 2.306 for 5 % and 8 degrees of freedom.
 */
static void differences_by_welch(void **state)
{
    const struct step_level a = {.median = 10, .error = 3, .freedom = 4},
                            b = {.median = 20, .error = 3, .freedom = 4};
    assert_float_equal(levels_limit(&a, &b, 0.05), 3 * sqrt(2) * 2.306, 0.003);
    assert_float_equal(levels_chance(&a, &b, 3 * sqrt(2) * 2.306), 0.05, 0.0001);
    const struct step_level exact = {.median = 10, .freedom = 4};
    assert_float_equal(levels_limit(&a, &exact, 0.05), 3 * 2.776, 0.003);
    assert_float_equal(levels_limit(&exact, &exact, 0.05), 0, 0);
    assert_float_equal(levels_chance(&exact, &exact, 1), 0, 0);
    assert_float_equal(levels_chance(&exact, &exact, 0), 1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_those_of_batches), cmocka_unit_test(memory_is_not_taken_for_many_steps),
        cmocka_unit_test(a_long_step_is_shrugged_off), cmocka_unit_test(drift_is_between_thirds),
        cmocka_unit_test(nothing_is_known_of_nothing), cmocka_unit_test(differences_by_welch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

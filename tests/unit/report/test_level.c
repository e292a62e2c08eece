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

/* Twenty-five steps: the medians of the fifths are 1, 3, 5, 7 and 19, with a mean of 7 and a variance of 50.
 */
static void spread_is_that_of_fifths(void **state)
{
    static const double medians[] = {1, 3, 5, 7, 19};
    double values[25];
    struct step_level level;
    for (int i = 0; i < 25; i++)
        values[i] = medians[i / 5] + (i % 5 == 3 ? 100 : 0);
    assert_int_equal(level_measure(&level, values, 25), 0);
    assert_float_equal(level.spread, sqrt(50), 1e-12);
}

static void nothing_is_known_of_nothing(void **state)
{
    const double one[] = {5};
    struct step_level level;
    assert_int_equal(level_measure(&level, NULL, 0), 0);
    assert_true(isnan(level.median));
    assert_int_equal(level_measure(&level, one, 1), 0);
    assert_float_equal(level.median, 5, 0);
    assert_float_equal(level.error, 0, 0);
    assert_float_equal(level.spread, 0, 0);
}

static struct side_level side_of(const double *medians, size_t count, double error, double spread)
{
    struct side_level side = {.runs = 0};
    for (size_t i = 0; i < count; i++) {
        const struct step_level level = {
            .median = medians[i], .error = error, .spread = spread, .steps = 10 + i};
        side_level_add(&side, &level);
    }
    return side;
}

static void repeats_of_a_side(void **state)
{
    const double medians[] = {10, 14, 12};
    struct side_level side = side_of(medians, 3, 3, 2);
    assert_float_equal(side.mean, 12, 1e-12);
    assert_float_equal(side.squares, 8, 1e-12);
    assert_float_equal(side.errors, 27, 1e-12);
    assert_float_equal(side.spreads, 12, 1e-12);
    assert_int_equal(side.runs, 3);
    assert_int_equal(side.fewest_steps, 10);
}

/* Single runs with error 3: the variance of a run is 9 plus the larger one of least and spread, both squared.
 */
static void what_is_assumed_of_single_runs(void **state)
{
    const double one[] = {100}, other[] = {110};
    struct side_level a = side_of(one, 1, 3, 10), b = side_of(other, 1, 3, 10);
    struct level_noise noise = levels_noise(&a, &b, 4, 0.2, 12);
    assert_float_equal(noise.error, sqrt(2 * (9 + 16)), 1e-9);
    assert_float_equal(noise.freedom, 12, 0);
    assert_false(noise.is_of_steps || noise.is_of_spread || noise.is_of_repeats);
    noise = levels_noise(&a, &b, 4, 0.5, 12);
    assert_float_equal(noise.error, sqrt(2 * (9 + 25)), 1e-9);
    assert_true(noise.is_of_spread);
    noise = levels_noise(&a, &b, 1, 0.1, 12);
    assert_float_equal(noise.error, sqrt(2 * (9 + 1)), 1e-9);
    assert_true(noise.is_of_steps);
    /* The table of Student's t has 2.179 for 5 % and 12 degrees of freedom. */
    assert_float_equal(noise_limit(&noise, 0.05), noise.error * 2.179, 0.003);
    assert_float_equal(noise_chance(&noise, noise.error * 2.179), 0.05, 0.0001);
    noise.error = 0;
    assert_float_equal(noise_limit(&noise, 0.05), 0, 0);
    assert_float_equal(noise_chance(&noise, 1), 0, 0);
    assert_float_equal(noise_chance(&noise, 0), 1, 0);
}

/*
 * Two runs of each side: two repeats, so that what is assumed counts as 12 / 3 = 4 degrees of freedom, and
 * the repeats as 2. Their squares are 8 and 18.
 */
static void repeats_are_averaged_with_what_is_assumed(void **state)
{
    const double two[] = {100, 104}, others[] = {110, 116};
    struct side_level a = side_of(two, 2, 0, 0), b = side_of(others, 2, 0, 0);
    struct level_noise noise = levels_noise(&a, &b, 1, 0, 12);
    assert_float_equal(noise.error, sqrt((4 * 1 + 8 + 18) / 6.0 * (0.5 + 0.5)), 1e-9);
    assert_float_equal(noise.freedom, 6, 0);
    assert_true(noise.is_of_repeats);
    struct level_noise back = levels_noise(&b, &a, 1, 0, 12);
    assert_float_equal(back.error, noise.error, 0);
    assert_float_equal(back.freedom, noise.freedom, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_those_of_batches),
        cmocka_unit_test(memory_is_not_taken_for_many_steps),
        cmocka_unit_test(a_long_step_is_shrugged_off),
        cmocka_unit_test(spread_is_that_of_fifths),
        cmocka_unit_test(nothing_is_known_of_nothing),
        cmocka_unit_test(repeats_of_a_side),
        cmocka_unit_test(what_is_assumed_of_single_runs),
        cmocka_unit_test(repeats_are_averaged_with_what_is_assumed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "base/base.h"

#include "support/cmocka_all.h"

#include <math.h>

/* Two-sided quantiles of Student's t from tables (Fisher and Yates). */
static void limits_are_those_of_tables(void **state)
{
    static const struct {
        double part, freedom, limit;
    } table[] = {{0.05, 1, 12.706}, {0.05, 10, 2.228},  {0.01, 4, 4.604},     {0.01, 30, 2.750},
                 {0.001, 8, 5.041}, {0.0002, 5, 9.678}, {0.05, 1e9, 1.95996}, {0.5, 2, 0.8165}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        assert_float_equal(student_limit(table[i].part, table[i].freedom), table[i].limit,
                           0.0006 * table[i].limit);
        assert_float_equal(student_beyond(table[i].limit, table[i].freedom), table[i].part,
                           0.004 * table[i].part);
    }
}

/* With one degree of freedom it is the Cauchy distribution: 1 - 2 atan(t) / pi. */
static void one_degree_of_freedom(void **state)
{
    for (double t = 0.25; t < 1000; t *= 3)
        assert_float_equal(student_beyond(t, 1), 1 - 2 * atan(t) / 3.14159265358979, 1e-9);
}

static void ends_of_the_scale(void **state)
{
    assert_float_equal(student_beyond(0, 7), 1, 1e-12);
    assert_float_equal(student_beyond(-3, 7), student_beyond(3, 7), 1e-12);
    assert_float_equal(student_beyond(INFINITY, 7), 0, 0);
    assert_float_equal(student_beyond((double)NAN, 7), 1, 0);
    assert_float_equal(student_beyond(3, 0), 1, 0);
    assert_true(isinf(student_limit(0, 7)));
    assert_true(isinf(student_limit(0.01, 0)));
}

/*
 * Holm's own steps: the smallest is compared with level / count, the next with level / (count - 1) ... until
 * one fails.
 */
static void holm_stops_at_the_first_that_fails(void **state)
{
    double all[] = {0.01, 0.02, 0.03, 0.005}, some[] = {0.01, 0.04, 0.03, 0.005}, none[] = {0.5, 0.02};
    assert_float_equal(holm_level(all, 4, 0.05), 0.05, 1e-12);
    assert_float_equal(holm_level(some, 4, 0.05), 0.05 / 2, 1e-12);
    assert_float_equal(holm_level(none, 2, 0.03), 0.03 / 2, 1e-12);
    assert_float_equal(holm_level(NULL, 0, 0.05), 0.05, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_those_of_tables),
        cmocka_unit_test(one_degree_of_freedom),
        cmocka_unit_test(ends_of_the_scale),
        cmocka_unit_test(holm_stops_at_the_first_that_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "input/input.h"

#include "support/cmocka_all.h"

#include <string.h>

static int64_t nanoseconds(const char *text)
{
    int64_t ns = 0;
    assert_int_equal(number_microseconds_ns(text, strlen(text), &ns), 0);
    return ns;
}

static int refuses(const char *text)
{
    int64_t ns;
    return number_microseconds_ns(text, strlen(text), &ns) != 0;
}

static void microseconds_become_nanoseconds(void **state)
{
    assert_int_equal(nanoseconds("0"), 0);
    assert_int_equal(nanoseconds("0.000000"), 0);
    assert_int_equal(nanoseconds("1"), 1000);
    assert_int_equal(nanoseconds("764234.611328"), 764234611);
    assert_int_equal(nanoseconds("436894.287000"), 436894287);
    assert_int_equal(nanoseconds("1795218171194099"), 1795218171194099000);
    assert_int_equal(nanoseconds("1e3"), 1000000);
    assert_int_equal(nanoseconds("1.5e-3"), 2);
    assert_true(nanoseconds("4611686018427387.903") == NUMBER_MOST_NS);
    assert_true(nanoseconds("-4611686018427387.903") == -NUMBER_MOST_NS);
    assert_true(refuses("4611686018427387.904"));
    assert_true(refuses("-4611686018427387.904"));
}

static void halves_round_away_from_zero(void **state)
{
    assert_int_equal(nanoseconds("0.000499"), 0);
    assert_int_equal(nanoseconds("0.000500"), 1);
    assert_int_equal(nanoseconds("0.001499"), 1);
    assert_int_equal(nanoseconds("0.0015"), 2);
    assert_int_equal(nanoseconds("-0.000500"), -1);
    assert_int_equal(nanoseconds("-1.000499"), -1000);
    /* Digits beyond those that fit in 64 bits still decide. */
    assert_int_equal(nanoseconds("1.00050000000000000000000000001"), 1001);
    assert_int_equal(nanoseconds("1.00049999999999999999999999999"), 1000);
}

static void what_does_not_fit_is_refused(void **state)
{
    assert_true(refuses("9223372036854775.808"));
    assert_true(refuses("1e300"));
    assert_true(refuses(""));
    assert_true(refuses("-"));
    assert_true(refuses("1."));
    assert_true(refuses(".5"));
    assert_true(refuses("1 "));
    assert_true(refuses("0x10"));
    assert_true(refuses("nan"));
    assert_int_equal(nanoseconds("1e-99999999999999"), 0);
    assert_int_equal(nanoseconds("0e99999999999999"), 0);
}

static void integers(void **state)
{
    uint64_t value = 7;
    int64_t number = 7;
    assert_int_equal(number_uint64("18446744073709551615", 20, &value), 0);
    assert_true(value == UINT64_MAX);
    assert_int_equal(number_uint64("18446744073709551616", 20, &value), -1);
    assert_int_equal(number_uint64("-0", 2, &value), 0);
    assert_int_equal(value, 0);
    assert_int_equal(number_int64("-9223372036854775809", 20, &number), -1);
    assert_int_equal(number, 7);
    assert_int_equal(number_int64("10.50", 5, &number), -1);
}

static void hexadecimal(void **state)
{
    uint64_t value = 0;
    assert_int_equal(number_hexadecimal("0xffffffffffffffff", 18, &value), 0);
    assert_true(value == UINT64_MAX);
    assert_int_equal(number_hexadecimal("4a720128A21895", 14, &value), 0);
    assert_true(value == 0x4a720128a21895);
    assert_int_equal(number_hexadecimal("0x1ffffffffffffffff", 19, &value), -1);
    assert_int_equal(number_hexadecimal("(nil)", 5, &value), -1);
    assert_int_equal(number_hexadecimal("0x", 2, &value), -1);
    assert_int_equal(number_hexadecimal("", 0, &value), -1);
}

static void json_numbers(void **state)
{
    assert_true(number_is_json("0", 1) && number_is_json("-0.5e+10", 8) && number_is_json("12", 2));
    assert_false(number_is_json("01", 2) || number_is_json("-01", 3) || number_is_json("+1", 2) ||
                 number_is_json("1.", 2) || number_is_json("1e", 2) || number_is_json("", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(microseconds_become_nanoseconds),
        cmocka_unit_test(halves_round_away_from_zero),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(integers),
        cmocka_unit_test(hexadecimal),
        cmocka_unit_test(json_numbers),
    };
    return cmocka_run_group_tests_name("number", tests, NULL, NULL);
}

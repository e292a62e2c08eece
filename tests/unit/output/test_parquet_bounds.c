#include "model/model.h"
#include "output/output.h"
#include "output/parquet.h"

#include "support/cmocka_all.h"

#include <math.h>
#include <string.h>

static struct parquet_bounds bounds;

static void add_integer(int64_t value)
{
    char bytes[PARQUET_NUMBER_BYTES];
    parquet_put(bytes, (uint64_t)value, PARQUET_NUMBER_BYTES);
    assert_int_equal(parquet_bounds_add(&bounds, bytes, sizeof bytes), 0);
}

static void add_real(double value)
{
    char bytes[PARQUET_NUMBER_BYTES];
    parquet_put(bytes, parquet_bits_of(value), PARQUET_NUMBER_BYTES);
    assert_int_equal(parquet_bounds_add(&bounds, bytes, sizeof bytes), 0);
}

static void add_text(const char *text)
{
    assert_int_equal(parquet_bounds_add(&bounds, text, strlen(text)), 0);
}

/* As a Statistics in field 1; `nulls` is below 64. */
static void assert_written(int64_t nulls, const char *expected, size_t length)
{
    struct thrift thrift;
    thrift_init(&thrift);
    thrift_begin(&thrift);
    parquet_bounds_write(&bounds, &thrift, 1, nulls);
    thrift_end(&thrift);
    assert_int_equal(thrift.bytes.length, length);
    assert_memory_equal(thrift.bytes.data, expected, length);
    thrift_release(&thrift);
    parquet_bounds_release(&bounds);
}

#define ASSERT_WRITTEN(nulls, expected) assert_written(nulls, expected, sizeof(expected) - 1)

static void test_no_values(void **state)
{
    parquet_bounds_init(&bounds, CELL_INTEGER);
    ASSERT_WRITTEN(5, "\x1c\x36\x0a\x00\x00");
}

/* Signed, and all 64 bits. */
static void test_integers(void **state)
{
    parquet_bounds_init(&bounds, CELL_INTEGER);
    add_integer(3);
    add_integer(INT64_MIN);
    add_integer(-1);
    add_integer(INT64_MAX);
    ASSERT_WRITTEN(0,
                   "\x1c\x36\x00\x28\x08\xff\xff\xff\xff\xff\xff\xff\x7f"
                   "\x18\x08\x00\x00\x00\x00\x00\x00\x00\x80\x00\x00");
}

/* The format: a minimum of 0 is written as -0.0, a maximum as +0.0. */
static void test_zeros_count_as_one(void **state)
{
    parquet_bounds_init(&bounds, CELL_REAL);
    add_real(0.0);
    ASSERT_WRITTEN(0,
                   "\x1c\x36\x00\x28\x08\x00\x00\x00\x00\x00\x00\x00\x00"
                   "\x18\x08\x00\x00\x00\x00\x00\x00\x00\x80\x00\x00");
    parquet_bounds_init(&bounds, CELL_REAL);
    add_real(-0.0);
    ASSERT_WRITTEN(0,
                   "\x1c\x36\x00\x28\x08\x00\x00\x00\x00\x00\x00\x00\x00"
                   "\x18\x08\x00\x00\x00\x00\x00\x00\x00\x80\x00\x00");
}

static void test_reals(void **state)
{
    parquet_bounds_init(&bounds, CELL_REAL);
    add_real(1.0);
    add_real(-INFINITY);
    add_real(-2.0);
    ASSERT_WRITTEN(0,
                   "\x1c\x36\x00\x28\x08\x00\x00\x00\x00\x00\x00\xf0\x3f"
                   "\x18\x08\x00\x00\x00\x00\x00\x00\xf0\xff\x00\x00");
}

/* There are no bounds for values without an order. */
static void test_no_number(void **state)
{
    parquet_bounds_init(&bounds, CELL_REAL);
    add_real(1.0);
    add_real(NAN);
    add_real(2.0);
    ASSERT_WRITTEN(0, "\x1c\x36\x00\x00\x00");
}

/* By unsigned bytes; a text comes before longer ones that start with it. */
static void test_texts(void **state)
{
    parquet_bounds_init(&bounds, CELL_TEXT);
    add_text("ab");
    add_text("\xc3\xa9");
    add_text("z");
    add_text("a");
    add_text("abc");
    ASSERT_WRITTEN(0,
                   "\x1c\x36\x00\x28\x02\xc3\xa9\x18\x01"
                   "a\x00\x00");
    parquet_bounds_init(&bounds, CELL_TEXT);
    add_text("b");
    add_text("");
    ASSERT_WRITTEN(0,
                   "\x1c\x36\x00\x28\x01"
                   "b\x18\x00\x00\x00");
}

static void test_long_texts(void **state)
{
    char text[PARQUET_BOUND_BYTES + 2] = "";
    memset(text, 'x', PARQUET_BOUND_BYTES + 1);
    parquet_bounds_init(&bounds, CELL_TEXT);
    add_text("a");
    add_text(text);
    add_text("b");
    ASSERT_WRITTEN(0, "\x1c\x36\x00\x00\x00");
}

static void test_it_can_be_used_again(void **state)
{
    parquet_bounds_init(&bounds, CELL_INTEGER);
    add_integer(-100);
    add_integer(100);
    parquet_bounds_clear(&bounds);
    add_integer(1);
    ASSERT_WRITTEN(1,
                   "\x1c\x36\x02\x28\x08\x01\x00\x00\x00\x00\x00\x00\x00"
                   "\x18\x08\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_values),  cmocka_unit_test(test_integers),
        cmocka_unit_test(test_reals),      cmocka_unit_test(test_zeros_count_as_one),
        cmocka_unit_test(test_no_number),  cmocka_unit_test(test_texts),
        cmocka_unit_test(test_long_texts), cmocka_unit_test(test_it_can_be_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

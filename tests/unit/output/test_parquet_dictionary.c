#include "output/output.h"
#include "output/parquet.h"

#include "support/cmocka_all.h"

#include <stdio.h>

static void test_values_have_one_number_each(void **state)
{
    struct parquet_dictionary dictionary;
    parquet_dictionary_init(&dictionary);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 5000; i++) {
            char text[32];
            int length = snprintf(text, sizeof text, "value %d", i);
            assert_int_equal(parquet_dictionary_put(&dictionary, text, (size_t)length), i);
            assert_int_equal(parquet_dictionary_put(&dictionary, text, (size_t)length), i);
        }
    }
    size_t length;
    assert_int_equal(dictionary.count, 5000);
    assert_memory_equal(parquet_dictionary_value(&dictionary, 4711, &length), "value 4711", 10);
    assert_int_equal(length, 10);
    parquet_dictionary_release(&dictionary);
}

/* Zeros are bytes like others; a longer value is another value. */
static void test_any_bytes(void **state)
{
    static const char bytes[16] = {0};
    struct parquet_dictionary dictionary;
    parquet_dictionary_init(&dictionary);
    for (int length = 0; length <= 16; length++)
        assert_int_equal(parquet_dictionary_put(&dictionary, bytes, (size_t)length), length);
    for (int length = 0; length <= 16; length++)
        assert_int_equal(parquet_dictionary_put(&dictionary, bytes, (size_t)length), length);
    assert_int_equal(dictionary.bytes.length, 16 * 17 / 2);
    parquet_dictionary_release(&dictionary);
}

static void test_it_can_be_used_again(void **state)
{
    struct parquet_dictionary dictionary;
    parquet_dictionary_init(&dictionary);
    assert_int_equal(parquet_dictionary_put(&dictionary, "a", 1), 0);
    assert_int_equal(parquet_dictionary_put(&dictionary, "b", 1), 1);
    parquet_dictionary_clear(&dictionary);
    assert_int_equal(parquet_dictionary_put(&dictionary, "b", 1), 0);
    assert_int_equal(parquet_dictionary_put(&dictionary, "a", 1), 1);
    assert_int_equal(dictionary.bytes.length, 2);
    assert_memory_equal(dictionary.bytes.data, "ba", 2);
    parquet_dictionary_release(&dictionary);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_have_one_number_each),
        cmocka_unit_test(test_any_bytes),
        cmocka_unit_test(test_it_can_be_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

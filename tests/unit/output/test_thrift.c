#include "output/output.h"
#include "output/parquet.h"

#include "support/cmocka_all.h"

/*
 * Bytes by the specification of the compact protocol: zigzag varints, a field's number as the difference from
 * the previous one.
 */
static void assert_bytes(struct thrift *thrift, const void *expected, size_t length)
{
    assert_false(thrift->failed);
    assert_int_equal(thrift->bytes.length, length);
    assert_memory_equal(thrift->bytes.data, expected, length);
    thrift_release(thrift);
}

#define ASSERT_BYTES(thrift, expected) assert_bytes(thrift, expected, sizeof(expected) - 1)

static void test_integers(void **state)
{
    struct thrift thrift;
    thrift_init(&thrift);
    thrift_begin(&thrift);
    thrift_i32(&thrift, 1, 0);
    thrift_i32(&thrift, 2, -1);
    thrift_i32(&thrift, 3, 1);
    thrift_i32(&thrift, 4, -64);
    thrift_i32(&thrift, 5, 64);
    thrift_i64(&thrift, 6, INT64_MAX);
    thrift_i64(&thrift, 7, INT64_MIN);
    thrift_end(&thrift);
    ASSERT_BYTES(&thrift,
                 "\x15\x00\x15\x01\x15\x02\x15\x7f\x15\x80\x01"
                 "\x16\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                 "\x16\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00");
}

static void test_numbers_of_fields(void **state)
{
    struct thrift thrift;
    thrift_init(&thrift);
    thrift_begin(&thrift);
    thrift_i32(&thrift, 15, 3);
    thrift_i32(&thrift, 31, 3); /* 16 more: written in full */
    thrift_i32(&thrift, 46, 3);
    thrift_end(&thrift);
    ASSERT_BYTES(&thrift, "\xf5\x06\x05\x3e\x06\xf5\x06\x00");
}

static void test_structs_count_for_themselves(void **state)
{
    struct thrift thrift;
    thrift_init(&thrift);
    thrift_begin(&thrift);
    thrift_struct(&thrift, 10);
    thrift_struct(&thrift, 1);
    thrift_end(&thrift);
    thrift_end(&thrift);
    thrift_text(&thrift, 11, "ab");
    thrift_end(&thrift);
    ASSERT_BYTES(&thrift,
                 "\xac\x1c\x00\x00\x18\x02"
                 "ab\x00");
}

static void test_lists(void **state)
{
    struct thrift thrift, other;
    thrift_init(&thrift);
    thrift_init(&other);
    thrift_begin(&other);
    thrift_i32(&other, 1, 1);
    thrift_end(&other);
    thrift_begin(&thrift);
    thrift_list(&thrift, 1, THRIFT_I32, 2);
    thrift_element_i32(&thrift, 0);
    thrift_element_i32(&thrift, 3);
    thrift_list(&thrift, 2, THRIFT_BINARY, 1);
    thrift_element_text(&thrift, "x");
    thrift_list(&thrift, 3, THRIFT_STRUCT, 1);
    thrift_elements(&thrift, &other);
    thrift_list(&thrift, 4, THRIFT_STRUCT, 0);
    thrift_list(&thrift, 5, THRIFT_I32, 15);
    for (int i = 0; i < 15; i++)
        thrift_element_i32(&thrift, 1);
    thrift_end(&thrift);
    ASSERT_BYTES(&thrift,
                 "\x19\x25\x00\x06\x19\x18\x01x\x19\x1c\x15\x02\x00\x19\x0c\x19\xf5\x0f"
                 "\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x00");
    thrift_release(&other);
}

static void test_it_can_be_used_again(void **state)
{
    struct thrift thrift;
    thrift_init(&thrift);
    thrift_begin(&thrift);
    thrift_i32(&thrift, 9, 5);
    thrift_clear(&thrift);
    thrift_begin(&thrift);
    thrift_i32(&thrift, 1, 0);
    thrift_end(&thrift);
    ASSERT_BYTES(&thrift, "\x15\x00\x00");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_numbers_of_fields),
        cmocka_unit_test(test_structs_count_for_themselves),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_it_can_be_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

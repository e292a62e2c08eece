#include "base/base.h"
#include "output/internal.h"

#include "support/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

/* The examples of protobuf.dev/programming-guides/encoding, and others by its rules. */

static struct buffer message;

static int begin(void **state)
{
    buffer_clear(&message);
    return 0;
}

static int end(void **state)
{
    buffer_release(&message);
    return 0;
}

#define assert_bytes(...)                                             \
    do {                                                              \
        const unsigned char expected[] = {__VA_ARGS__};               \
        assert_int_equal(message.length, sizeof expected);            \
        assert_memory_equal(message.data, expected, sizeof expected); \
    } while (0)

static void test_number(void **state)
{
    assert_int_equal(protobuf_number(&message, 1, 150), 0);
    assert_bytes(0x08, 0x96, 0x01);
}

static void test_negative_number_has_ten_bytes(void **state)
{
    assert_int_equal(protobuf_number(&message, 4, (uint64_t)INT64_C(-2)), 0);
    assert_bytes(0x20, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01);
}

static void test_field_beyond_15_has_two_bytes(void **state)
{
    assert_int_equal(protobuf_number(&message, 60, 1), 0);
    assert_bytes(0xe0, 0x03, 0x01);
}

static void test_text(void **state)
{
    assert_int_equal(protobuf_text(&message, 2, "testing"), 0);
    assert_bytes(0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67);
}

static void test_fixed(void **state)
{
    assert_int_equal(protobuf_fixed(&message, 47, 0x0123456789abcdef), 0);
    assert_bytes(0xf9, 0x02, 0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01);
}

static void test_message_in_message(void **state)
{
    size_t mark;
    assert_int_equal(protobuf_open(&message, 3, &mark), 0);
    assert_int_equal(protobuf_number(&message, 1, 150), 0);
    assert_int_equal(protobuf_close(&message, mark), 0);
    assert_bytes(0x1a, 0x03, 0x08, 0x96, 0x01);
}

static void test_empty_message(void **state)
{
    size_t mark;
    assert_int_equal(protobuf_open(&message, 3, &mark), 0);
    assert_int_equal(protobuf_close(&message, mark), 0);
    assert_bytes(0x1a, 0x00);
}

/* From 128 bytes on a length takes two bytes, from 16384 on three: the content moves. */
static void check_long(size_t length, const unsigned char *head, size_t head_bytes)
{
    size_t outer, inner;
    char *text = malloc(length + 1);
    assert_non_null(text);
    memset(text, 'x', length);
    text[length] = 0;
    buffer_clear(&message);
    assert_int_equal(protobuf_open(&message, 1, &outer), 0);
    assert_int_equal(protobuf_open(&message, 2, &inner), 0);
    assert_int_equal(buffer_append_text(&message, text), 0);
    assert_int_equal(protobuf_close(&message, inner), 0);
    assert_int_equal(protobuf_close(&message, outer), 0);
    assert_int_equal(message.length, head_bytes + length);
    assert_memory_equal(message.data, head, head_bytes);
    assert_memory_equal(message.data + head_bytes, text, length);
    free(text);
}

static void test_long_messages(void **state)
{
    static const unsigned char of_127[] = {0x0a, 0x81, 0x01, 0x12, 0x7f};
    static const unsigned char of_128[] = {0x0a, 0x83, 0x01, 0x12, 0x80, 0x01};
    static const unsigned char of_16384[] = {0x0a, 0x84, 0x80, 0x01, 0x12, 0x80, 0x80, 0x01};
    check_long(127, of_127, sizeof of_127);
    check_long(128, of_128, sizeof of_128);
    check_long(16384, of_16384, sizeof of_16384);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_number, begin, end),
        cmocka_unit_test_setup_teardown(test_negative_number_has_ten_bytes, begin, end),
        cmocka_unit_test_setup_teardown(test_field_beyond_15_has_two_bytes, begin, end),
        cmocka_unit_test_setup_teardown(test_text, begin, end),
        cmocka_unit_test_setup_teardown(test_fixed, begin, end),
        cmocka_unit_test_setup_teardown(test_message_in_message, begin, end),
        cmocka_unit_test_setup_teardown(test_empty_message, begin, end),
        cmocka_unit_test_setup_teardown(test_long_messages, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Text that is written to a trace is always valid JSON, whatever an application passes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The plugin is a separate library; the tool's library does not contain it. */
#include "plugin/write/text.c"
#include "plugin/write/write.h"

static char room[TEXT_LINE_MAX];

static const char *escaped(const char *from, size_t length)
{
    struct text text = {.bytes = room};
    text_escaped(&text, from, length);
    room[text.length] = '\0';
    return room;
}

static void escapes_what_json_forbids(void **state)
{
    (void)state;
    assert_string_equal(escaped("a\"b\\c", 5), "a\\\"b\\\\c");
    assert_string_equal(escaped("\n\t\0\x1f\x7f", 5), "\\u000a\\u0009\\u0000\\u001f\\u007f");
}

static void keeps_utf8(void **state)
{
    (void)state;
    const char *text = "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80";
    assert_string_equal(escaped(text, strlen(text)), text);
}

/* RFC 3629: lone continuation, overlong forms, surrogates, beyond U+10FFFD, cut at the end. */
static void replaces_what_is_not_utf8(void **state)
{
    (void)state;
    assert_string_equal(escaped("\x80", 1), "\\ufffd");
    assert_string_equal(escaped("\xc0\xaf", 2), "\\ufffd\\ufffd");
    assert_string_equal(escaped("\xe0\x80\xaf", 3), "\\ufffd\\ufffd\\ufffd");
    assert_string_equal(escaped("\xed\xa0\x80", 3), "\\ufffd\\ufffd\\ufffd");
    assert_string_equal(escaped("\xf4\x90\x80\x80", 4), "\\ufffd\\ufffd\\ufffd\\ufffd");
    assert_string_equal(escaped("x\xe2\x82", 3), "x\\ufffd\\ufffd");
    assert_string_equal(escaped("\xc3(", 2), "\\ufffd(");
}

static const char *written(void (*write)(struct text *text, uint64_t value), uint64_t value)
{
    struct text text = {.bytes = room};
    write(&text, value);
    room[text.length] = '\0';
    return room;
}

static void signed_value(struct text *text, uint64_t value)
{
    text_signed(text, (int64_t)value);
}

static void writes_numbers_as_printf_does(void **state)
{
    (void)state;
    static const uint64_t values[] = {0, 1, 9, 10, 999, 1000, 1001, 123456789, INT64_MAX, UINT64_MAX};
    char expected[64];
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        snprintf(expected, sizeof(expected), "%llu", (unsigned long long)values[i]);
        assert_string_equal(written(text_unsigned, values[i]), expected);
        snprintf(expected, sizeof(expected), "0x%llx", (unsigned long long)values[i]);
        assert_string_equal(written(text_hexadecimal, values[i]), expected);
        snprintf(expected, sizeof(expected), "%lld", (long long)values[i]);
        assert_string_equal(written(signed_value, values[i]), expected);
    }
    assert_string_equal(written(signed_value, (uint64_t)INT64_MIN), "-9223372036854775808");
    assert_string_equal(written(text_microseconds, 0), "0.000000");
    assert_string_equal(written(text_microseconds, 1234567), "1234.567000");
    assert_string_equal(written(text_microseconds, 1000001), "1000.001000");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(escapes_what_json_forbids),
        cmocka_unit_test(keeps_utf8),
        cmocka_unit_test(replaces_what_is_not_utf8),
        cmocka_unit_test(writes_numbers_as_printf_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

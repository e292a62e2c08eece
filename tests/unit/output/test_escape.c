#include "support/cmocka_all.h"

#include "base/base.h"
#include "base/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_terminal(const char *bytes, size_t length, const char *expected)
{
    struct buffer buffer = BUFFER_INIT;
    assert_int_equal(escape_terminal(&buffer, bytes, length), 0);
    assert_string_equal(buffer.data, expected);
    buffer_release(&buffer);
}

static void check_json(const char *bytes, size_t length, const char *expected)
{
    struct buffer buffer = BUFFER_INIT;
    assert_int_equal(escape_json(&buffer, bytes, length), 0);
    assert_string_equal(buffer.data, expected);
    buffer_release(&buffer);
}

static void check_markup(const char *bytes, size_t length, const char *expected)
{
    struct buffer buffer = BUFFER_INIT;
    assert_int_equal(escape_markup(&buffer, bytes, length), 0);
    assert_string_equal(buffer.data, expected);
    buffer_release(&buffer);
}

#define MARKUP(bytes, expected) check_markup(bytes, sizeof(bytes) - 1, expected)
#define TERMINAL(bytes, expected) check_terminal(bytes, sizeof(bytes) - 1, expected)
#define JSON(bytes, expected) check_json(bytes, sizeof(bytes) - 1, expected)

static void test_plain_text_stays(void **state)
{
    TERMINAL("", "");
    TERMINAL("forward #3 \\ \"x\"", "forward #3 \\ \"x\"");
    TERMINAL(
        "gr\xc3\xb6\xc3\x9f"
        "e \xe2\x82\xac \xf0\x9f\x98\x80",
        "gr\xc3\xb6\xc3\x9f"
        "e \xe2\x82\xac \xf0\x9f\x98\x80");
}

static void test_nothing_is_executed(void **state)
{
    TERMINAL("\033[2J", "\\x1b[2J");
    TERMINAL("a\nb\rc\td\177", "a\\x0ab\\x0dc\\x09d\\x7f");
    TERMINAL("a\0b", "a\\x00b");
    TERMINAL(
        "\xc2\x9b"
        "31m",
        "\\xc2\\x9b31m"); /* CSI in one character */
    TERMINAL(
        "\xe2\x80\xae"
        "txt",
        "\\xe2\\x80\\xaetxt");                   /* right-to-left override */
    TERMINAL("\xe2\x80\xa8", "\\xe2\\x80\\xa8"); /* line separator */
}

static void test_invalid_utf8(void **state)
{
    TERMINAL("\xff", "\\xff");
    TERMINAL("\xc0\xaf", "\\xc0\\xaf");                   /* overlong */
    TERMINAL("\xed\xa0\x80", "\\xed\\xa0\\x80");          /* surrogate */
    TERMINAL("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* beyond U+10FFFF */
    TERMINAL("ab\xe2\x82", "ab\\xe2\\x82");               /* truncated */
    TERMINAL(
        "\xe2"
        "AB",
        "\\xe2"
        "AB");
}

static void test_json(void **state)
{
    JSON("a\"b\\c/", "a\\\"b\\\\c/");
    JSON("\n\t\r\b", "\\n\\t\\u000d\\u0008");
    JSON("a\0b", "a\\u0000b");
    JSON("\xff\xc3\xa4", "\xef\xbf\xbd\xc3\xa4");
    JSON("\xe2\x80\xa8", "\\u2028");
    JSON("\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80");
}

static void test_markup(void **state)
{
    MARKUP("a<b>&\"c\"'", "a&lt;b&gt;&amp;&quot;c&quot;'");
    MARKUP("\n\033", "\\x0a\\x1b");
    MARKUP("\xff", "\\xff");
    MARKUP("", "");
}

static void test_width_counts_characters(void **state)
{
    assert_int_equal(escape_width(""), 0);
    assert_int_equal(escape_width("abc"), 3);
    assert_int_equal(escape_width("\xe2\x82\xac \xc3\xb6"), 3);
}

static void test_utf8_alone(void **state)
{
    static const struct {
        const char *bytes;
        size_t length;
        const char *expected;
    } cases[] = {
        {"", 0, ""},
        {"a\tb\x1b", 4, "a\tb\x1b"},
        {"\xff"
         "a\xc3",
         3,
         "\xef\xbf\xbd"
         "a\xef\xbf\xbd"},
        {"\xc3\xb6\xed\xa0\x80", 5, "\xc3\xb6\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buffer buffer = BUFFER_INIT;
        assert_int_equal(escape_utf8(&buffer, cases[i].bytes, cases[i].length), 0);
        assert_string_equal(buffer.data, cases[i].expected);
        assert_int_equal(escape_is_utf8(cases[i].bytes, cases[i].length), i < 2);
        buffer_release(&buffer);
    }
}

static void test_real_reads_back(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0"},
                 {0.001, "0.001"},
                 {0.0005, "0.0005"},
                 {-1234.5, "-1234.5"},
                 {999999999999.5, "999999999999.5"},
                 {1e12, "1000000000000"},
                 {1e15, "1e+15"},
                 {123456.789, "123456.789"},
                 {123456.7891, "123456.7891"},
                 {0.1, "0.1"},
                 {1e300, "1e+300"},
                 {5, "5"},
                 {1.0 / 3, "0.3333333333333333"},
                 {-2.5, "-2.5"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[REAL_TEXT_BYTES];
        real_text(cases[i].value, text);
        assert_string_equal(text, cases[i].text);
        assert_true(strtod(text, NULL) == cases[i].value);
    }
}

/* The definition: the first of 15, 16 and 17 digits that reads back. */
static void shortest(double value, char text[REAL_TEXT_BYTES])
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, REAL_TEXT_BYTES, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            return;
    }
}

/* Times since 1970 in microseconds, around the limits of the fast ways and where the spacing changes. */
static void test_real_is_shortest(void **state)
{
    static const double begins[] = {
        -3,        0,      999.9,   999999999990.0,     1e15 - 20, 1125899906842620.0,
        1.7639e15, 1.8e15, 2.25e15, 2251799813685240.0, 4e15 - 20};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        for (int eighth = 0; eighth < 400; eighth++) {
            char text[REAL_TEXT_BYTES], expected[REAL_TEXT_BYTES];
            double value = begins[i] + eighth / 8.0;
            real_text(value, text);
            shortest(value, expected);
            assert_string_equal(text, expected);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_text_stays), cmocka_unit_test(test_nothing_is_executed),
        cmocka_unit_test(test_invalid_utf8),     cmocka_unit_test(test_json),
        cmocka_unit_test(test_markup),           cmocka_unit_test(test_width_counts_characters),
        cmocka_unit_test(test_utf8_alone),       cmocka_unit_test(test_real_reads_back),
        cmocka_unit_test(test_real_is_shortest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

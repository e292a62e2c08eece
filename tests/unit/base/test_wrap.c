#include "base/base.h"

#include "support/cmocka_all.h"

#include <string.h>

static void check(const char *text, size_t width, const char *expected)
{
    struct buffer buffer = BUFFER_INIT;
    assert_int_equal(wrap_text(&buffer, text, strlen(text), width), 0);
    assert_string_equal(buffer.data ? buffer.data : "", expected);
    buffer_release(&buffer);
}

static void test_lines_break_at_blanks(void **state)
{
    check("one two three", 7, "one two\n  three\n");
    check("one two", 7, "one two\n");
    check("", 7, "");
}

/* Continuation lines are indented by two more than the line. */
static void test_what_follows_hangs(void **state)
{
    check("  one two three\n", 9, "  one two\n    three\n");
    check("a b\nc d\n", 2, "a\n  b\nc\n  d\n");
}

static void test_a_long_word_stays_whole(void **state)
{
    check("a 123456789012345 b", 8, "a\n  123456789012345\n  b\n");
}

/* Characters of several bytes take one column. */
static void test_width_is_in_letters(void **state)
{
    check("\xc3\xa4\xc3\xb6 \xc3\xbc\xc3\xbc x", 5, "\xc3\xa4\xc3\xb6 \xc3\xbc\xc3\xbc\n  x\n");
}

/* Colours take no column, nor does text that only begins like one. */
static void test_colours_have_no_width(void **state)
{
    check("\033[1;31mone\033[0m two", 7, "\033[1;31mone\033[0m two\n");
    check("\033[1;3 two", 7, "\033[1;3\n  two\n");
}

/* A line to be copied stays whole; its mark is not shown. */
static void test_a_marked_line_stays_whole(void **state)
{
    check("one two three\n" UNBROKEN_LINE "  one two three\none\n", 7,
          "one two\n  three\n  one two three\none\n");
    check(UNBROKEN_LINE, 7, "\n");
}

/* A shell reads each word as it is. */
static void test_words_for_a_shell(void **state)
{
    static const struct {
        const char *word, *quoted;
    } words[] = {{"/data/run-1,a:b@c%d+e=f_", "/data/run-1,a:b@c%d+e=f_"},
                 {"", "''"},
                 {"-x", "'-x'"},
                 {"a b", "'a b'"},
                 {"it's", "'it'\\''s'"},
                 {"~/$HOME*", "'~/$HOME*'"},
                 {"\xc3\xa4", "'\xc3\xa4'"},
                 {"a\nb", "\"$(printf 'a\\012b')\""},
                 {"%\x01\xff'", "\"$(printf '\\045\\001\\377\\047')\""}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct buffer text = BUFFER_INIT;
        assert_int_equal(text_shell_word(&text, words[i].word), 0);
        assert_string_equal(text.data, words[i].quoted);
        buffer_release(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_break_at_blanks),   cmocka_unit_test(test_what_follows_hangs),
        cmocka_unit_test(test_a_long_word_stays_whole), cmocka_unit_test(test_width_is_in_letters),
        cmocka_unit_test(test_colours_have_no_width),   cmocka_unit_test(test_a_marked_line_stays_whole),
        cmocka_unit_test(test_words_for_a_shell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

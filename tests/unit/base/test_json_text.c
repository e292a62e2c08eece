#include "base/base.h"

#include "support/cmocka_all.h"

static void values_are_quoted_and_escaped(void **state)
{
    static const struct {
        const char *text, *json;
    } cases[] = {
        {NULL, "null"},
        {"", "\"\""},
        {"rank 3", "\"rank 3\""},
        {"a\"b\\c", "\"a\\\"b\\\\c\""},
        {"two\nlines", "\"two\\nlines\""},
        {"null", "\"null\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buffer json = BUFFER_INIT;
        assert_int_equal(text_json_quote(&json, cases[i].text), 0);
        assert_string_equal(json.data, cases[i].json);
        buffer_release(&json);
    }
}

static void a_comma_stands_between_members_only(void **state)
{
    struct buffer json = BUFFER_INIT;
    assert_int_equal(buffer_append_byte(&json, '{'), 0);
    assert_int_equal(text_json_string(&json, "host", "a\"b"), 0);
    assert_int_equal(text_json_string(&json, "tag", NULL), 0);
    assert_int_equal(text_json_integer(&json, "least", INT64_MIN), 0);
    assert_int_equal(text_json_key(&json, "inner") || buffer_append_byte(&json, '{'), 0);
    assert_int_equal(text_json_integer(&json, "most", INT64_MAX), 0);
    assert_int_equal(buffer_append_text(&json, "}}"), 0);
    assert_string_equal(json.data,
                        "{\"host\":\"a\\\"b\",\"tag\":null,\"least\":-9223372036854775808,"
                        "\"inner\":{\"most\":9223372036854775807}}");
    buffer_release(&json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_quoted_and_escaped),
        cmocka_unit_test(a_comma_stands_between_members_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

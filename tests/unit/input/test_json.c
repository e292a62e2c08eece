#include "input/json.h"

#include "support/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

static enum json_status parse(struct json *json, const char *text)
{
    return json_parse(json, text, strlen(text));
}

static const struct json_node *member(const struct json *json, const char *key)
{
    return json_member(json_root(json), key);
}

static void numbers_stay_exact(void **state)
{
    struct json json;
    uint64_t unsigned_value;
    int64_t value = 5;
    json_init(&json);
    assert_int_equal(parse(&json,
                           "{\"a\": 18446744073709551615, \"b\": -9223372036854775808, \"c\": 1.5,"
                           "\"d\": 18446744073709551616, \"e\": 12.000, \"f\": 1e3, \"g\": -1}"),
                     JSON_OK);
    assert_int_equal(json_uint64(&json, member(&json, "a"), &unsigned_value), 0);
    assert_true(unsigned_value == UINT64_MAX);
    assert_int_equal(json_int64(&json, member(&json, "b"), &value), 0);
    assert_true(value == INT64_MIN);
    value = 5;
    assert_int_equal(json_int64(&json, member(&json, "a"), &value), -1);
    assert_int_equal(json_int64(&json, member(&json, "c"), &value), -1);
    assert_int_equal(json_uint64(&json, member(&json, "d"), &unsigned_value), -1);
    assert_int_equal(json_uint64(&json, member(&json, "g"), &unsigned_value), -1);
    assert_int_equal(json_int64(&json, member(&json, "missing"), &value), -1);
    assert_int_equal(value, 5);
    assert_int_equal(json_int64(&json, member(&json, "e"), &value), 0);
    assert_int_equal(value, 12);
    assert_int_equal(json_int64(&json, member(&json, "f"), &value), 0);
    assert_int_equal(value, 1000);
    json_release(&json);
}

static void strings_that_look_like_numbers_are_strings(void **state)
{
    struct json json;
    int64_t value;
    json_init(&json);
    assert_int_equal(parse(&json, "{\"a\": \"1\", \"2\": 3, \"q\": \"x\\\"4\"}"), JSON_OK);
    assert_int_equal(json_int64(&json, member(&json, "a"), &value), -1);
    assert_string_equal(json_text(member(&json, "a")), "1");
    assert_int_equal(json_int64(&json, member(&json, "2"), &value), 0);
    assert_int_equal(value, 3);
    assert_string_equal(json_text(member(&json, "q")), "x\"4");
    assert_null(json_text(member(&json, "2")));
    json_release(&json);
}

static void keys_match_with_case_and_the_first_counts(void **state)
{
    struct json json;
    json_init(&json);
    assert_int_equal(parse(&json, "{\"Key\": \"upper\", \"key\": \"first\", \"key\": \"second\"}"), JSON_OK);
    assert_string_equal(json_text(member(&json, "key")), "first");
    assert_string_equal(json_text(member(&json, "Key")), "upper");
    assert_null(member(&json, "KEY"));
    json_release(&json);
}

static void what_is_not_one_value_is_refused(void **state)
{
    static const char *const bad[] = {"",
                                      "{",
                                      "{}}",
                                      "{} {}",
                                      "{\"a\": 01}",
                                      "{\"a\": 1.}",
                                      "{\"a\": .5}",
                                      "{\"a\": +1}",
                                      "{\"a\": nan}",
                                      "{\"a\" 1}",
                                      "{\"a\": \"x}",
                                      "nul",
                                      "{\"a\": 1e}",
                                      "{\"a\": 0x10}",
                                      "{1: 2}",
                                      "\"",
                                      "[1,]"};
    struct json json;
    json_init(&json);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(parse(&json, bad[i]), JSON_INVALID);
        assert_null(json_root(&json));
    }
    json_release(&json);
}

static void deep_nesting_ends(void **state)
{
    enum { DEEP = 100000 };
    struct json json;
    char *text = malloc(2 * DEEP);
    assert_non_null(text);
    memset(text, '[', DEEP);
    memset(text + DEEP, ']', DEEP);
    json_init(&json);
    assert_int_equal(json_parse(&json, text, 2 * DEEP), JSON_INVALID);
    assert_int_equal(json_parse(&json, text + DEEP - 500, 1000), JSON_OK);
    json_release(&json);
    free(text);
}

static void words_without_quotes(void **state)
{
    static const char text[] =
        "{\"d\": ncclFloat32, \"s\": 0x55d0, \"n\": nan, \"t\": true, \"i\": 7, \"q\": \"a (nil) b\", \"p\": "
        "(nil), "
        "\"o\": (null)}";
    struct json json;
    int64_t value;
    json_init(&json);
    assert_int_equal(parse(&json, text), JSON_INVALID);
    assert_int_equal(json_parse_lenient(&json, text, sizeof text - 1), JSON_OK);
    assert_string_equal(json_text(member(&json, "d")), "ncclFloat32");
    assert_string_equal(json_text(member(&json, "s")), "0x55d0");
    assert_string_equal(json_text(member(&json, "n")), "nan");
    assert_string_equal(json_text(member(&json, "q")), "a (nil) b");
    assert_string_equal(json_text(member(&json, "p")), "(nil)");
    assert_string_equal(json_text(member(&json, "o")), "(null)");
    assert_int_equal(json_kind(member(&json, "t")), JSON_BOOLEAN);
    assert_int_equal(json_int64(&json, member(&json, "i"), &value), 0);
    assert_int_equal(value, 7);
    assert_int_equal(json_parse_lenient(&json, "{\"p\": (nul)}", 12), JSON_INVALID);
    assert_int_equal(json_parse_lenient(&json, "{\"p\": (nil", 10), JSON_INVALID);
    json_release(&json);
}

static void arrays_are_walked(void **state)
{
    struct json json;
    int64_t sum = 0;
    json_init(&json);
    assert_int_equal(parse(&json, "[1, 20, 300]"), JSON_OK);
    assert_int_equal(json_kind(json_root(&json)), JSON_ARRAY);
    for (const struct json_node *node = json_first(json_root(&json)); node; node = json_next(node)) {
        int64_t value;
        assert_int_equal(json_int64(&json, node, &value), 0);
        sum += value;
    }
    assert_int_equal(sum, 321);
    assert_null(json_first(NULL));
    json_release(&json);
}

static int fit(const char *text, enum json_status status)
{
    struct json json;
    json_init(&json);
    assert_int_equal(parse(&json, text), status);
    if (status != JSON_OK)
        assert_int_equal(json_parse_lenient(&json, text, strlen(text)), JSON_OK);
    int all = json_numbers_fit(&json) && !json.has_nan;
    json_release(&json);
    return all;
}

static void numbers_that_do_not_fit_are_known(void **state)
{
    assert_true(fit("[-9223372036854775808, 18446744073709551615, 1.25, 4e3, -0.001]", JSON_OK));
    assert_false(fit("[1, 18446744073709551616]", JSON_OK));
    assert_false(fit("[-9223372036854775809]", JSON_OK));
    assert_false(fit("[1e300]", JSON_OK));
    assert_true(fit("[ncclFloat32, 0x55, nana, \"nan\"]", JSON_INVALID));
    assert_false(fit("[ncclFloat32, nan]", JSON_INVALID));
    assert_false(fit("[-Inf]", JSON_INVALID));
}

/* A string with a NUL inside ends there: that something is lost is known. */
static void strings_end_at_a_nul(void **state)
{
    static const struct {
        const char *text;
        size_t length;
        int misread;
    } cases[] = {{"{\"a\": \"x\\u0000y\"}", 16, 1},   {"{\"a\": \"\\u0000\"}", 14, 1},
                 {"{\"a\": \"x\0y\"}", 11, 1},        {"{\"a\": \"x\\\\u0000\"}", 16, 0},
                 {"{\"a\": \"\\\\\\u0000\"}", 16, 1}, {"{\"a\": \"\\u0001\\u00\"}", 18, 0},
                 {"{\"a\": \"u0000\"}", 13, 0}};
    struct json json;
    json_init(&json);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_parse(&json, cases[i].text, cases[i].length);
        if (json.misread != cases[i].misread)
            fail_msg("%s", cases[i].text);
    }
    json_release(&json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_stay_exact),
        cmocka_unit_test(strings_that_look_like_numbers_are_strings),
        cmocka_unit_test(keys_match_with_case_and_the_first_counts),
        cmocka_unit_test(what_is_not_one_value_is_refused),
        cmocka_unit_test(deep_nesting_ends),
        cmocka_unit_test(words_without_quotes),
        cmocka_unit_test(arrays_are_walked),
        cmocka_unit_test(numbers_that_do_not_fit_are_known),
        cmocka_unit_test(strings_end_at_a_nul),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}

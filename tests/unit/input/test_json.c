#include "input/input.h"
#include "input/json.h"

#include "support/cmocka_all.h"
#include "support/events.h"
#include "support/random.h"
#include "support/same_json.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

static enum json_status parse(struct json *json, const char *text)
{
    return json_parse(json, text, strlen(text));
}

static const struct value *member(const struct json *json, const char *key)
{
    return json_member(&json->root, key);
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
    assert_int_equal(json_uint64(member(&json, "a"), &unsigned_value), 0);
    assert_true(unsigned_value == UINT64_MAX);
    assert_int_equal(json_int64(member(&json, "b"), &value), 0);
    assert_true(value == INT64_MIN);
    value = 5;
    assert_int_equal(json_int64(member(&json, "a"), &value), -1);
    assert_int_equal(json_int64(member(&json, "c"), &value), -1);
    assert_int_equal(json_uint64(member(&json, "d"), &unsigned_value), -1);
    assert_int_equal(json_uint64(member(&json, "g"), &unsigned_value), -1);
    assert_int_equal(json_int64(member(&json, "missing"), &value), -1);
    assert_int_equal(value, 5);
    assert_int_equal(json_int64(member(&json, "e"), &value), 0);
    assert_int_equal(value, 12);
    assert_int_equal(json_int64(member(&json, "f"), &value), 0);
    assert_int_equal(value, 1000);
    json_release(&json);
}

static void strings_that_look_like_numbers_are_strings(void **state)
{
    struct json json;
    int64_t value;
    json_init(&json);
    assert_int_equal(parse(&json, "{\"a\": \"1\", \"2\": 3, \"q\": \"x\\\"4\"}"), JSON_OK);
    assert_int_equal(json_int64(member(&json, "a"), &value), -1);
    assert_string_equal(json_text(member(&json, "a")), "1");
    assert_int_equal(json_int64(member(&json, "2"), &value), 0);
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
        assert_int_equal(json.root.kind, VALUE_NULL);
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
    assert_int_equal(member(&json, "t")->kind, VALUE_BOOLEAN);
    assert_int_equal(json_int64(member(&json, "i"), &value), 0);
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
    assert_int_equal(json.root.kind, VALUE_LIST);
    for (const struct value *node = value_begin(&json.root); node < value_end(&json.root); node++) {
        int64_t value;
        assert_int_equal(json_int64(node, &value), 0);
        sum += value;
    }
    assert_int_equal(sum, 321);
    assert_null(value_begin(NULL));
    json_release(&json);
}

static int fit(const char *text, enum json_status status)
{
    struct json json;
    json_init(&json);
    assert_int_equal(parse(&json, text), status);
    if (status != JSON_OK)
        assert_int_equal(json_parse_lenient(&json, text, strlen(text)), JSON_OK);
    int all = !json.has_misfit && !json.has_nan;
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

/* A string with a NUL inside ends there, and the loss is reported. */
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

static void assert_same(const char *text, size_t length)
{
    char *copy = malloc(length ? length : 1); /* of the exact size, to detect reading beyond the end */
    assert_non_null(copy);
    memcpy(copy, text, length);
    const char *difference = difference_from_cjson(copy, length);
    if (difference)
        fail_msg("%s: %.*s", difference, (int)length, text);
    free(copy);
}

/* Inserts into a text, which has space for it, or removes from it. */
static size_t change(char *text, size_t length)
{
    static const char *const pieces[] = {"\\u0000",    "\\ud83d\\ude00",
                                         "\\ud800",    "\\udc00",
                                         "\\uzzzz",    "\\u00e9",
                                         "\\n",        "\\x",
                                         "\"",         "\\",
                                         "{",          "}",
                                         "[",          "]",
                                         ",",          ":",
                                         " ",          "\n",
                                         "\x01",       "\xff",
                                         "\xc3",       "0",
                                         "-",          "1e5",
                                         "0.5",        "null",
                                         "true",       "nan",
                                         "0x1f",       "(nil)",
                                         "\"a\":1",    "[1,2]",
                                         "{\"a\":{}}", "18446744073709551615",
                                         "1e400",      "\xef\xbb\xbf"};
    const char *piece = pieces[random_number() % (sizeof pieces / sizeof *pieces)];
    size_t at = length ? random_number() % length : 0, more = strlen(piece);
    switch (random_number() % 4) {
    case 0:
        memmove(text + at, text + at + (length > 0), length - at - (length > 0));
        return length - (length > 0);
    case 1:
        if (length > 0)
            text[at] = (char)random_number();
        return length;
    default:
        memmove(text + at + more, text + at, length - at);
        memcpy(text + at, piece, more);
        return length + more;
    }
}

enum { TEXT_BYTES = 4096, CHANGES_MOST = 6, CHANGE_BYTES = 32 };

static void assert_same_changed(const char *text, size_t length, int times)
{
    char copy[TEXT_BYTES + CHANGES_MOST * CHANGE_BYTES];
    assert_same(text, length);
    for (int i = 0; length <= TEXT_BYTES && i < times; i++) {
        size_t changed = length;
        memcpy(copy, text, length);
        for (uint64_t left = random_number() % CHANGES_MOST; left > 0; left--)
            changed = change(copy, changed);
        assert_same(copy, changed);
    }
}

static void small_texts_mean_what_they_mean_to_cjson(void **state)
{
    static const char *const texts[] = {"{}",
                                        "[]",
                                        "\"x\"",
                                        "12",
                                        " {\"a\" : [ ] , \"c\" : { } } ",
                                        "[1,2,{\"b\":[true,false,null]}]",
                                        "[[[[1]]]]",
                                        "{\"a\":\"\\u00e9\\ud83d\\ude00\",\"b\":\"q\\\"\\\\\"}",
                                        "[-0, 1.5e-3, 123456789012345678901234567890]"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_same_changed(texts[i], strlen(texts[i]), 3000);
}

/* As deep as values may be nested, and deeper. */
static void depths_are_those_of_cjson(void **state)
{
    static const int depths[] = {VALUE_DEPTH_MOST - 1, VALUE_DEPTH_MOST, VALUE_DEPTH_MOST + 1,
                                 JSON_DEPTH_MOST - 1,  JSON_DEPTH_MOST,  JSON_DEPTH_MOST + 1};
    char text[2 * JSON_DEPTH_MOST + 3];
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++)
        for (size_t inside = 0; inside < 2; inside++) {
            size_t depth = (size_t)depths[i];
            memset(text, '[', depth);
            memset(text + depth, '1', inside);
            memset(text + depth + inside, ']', depth);
            assert_same(text, 2 * depth + inside);
        }
}

static void traces_mean_what_they_mean_to_cjson(void **state)
{
    glob_t found;
    assert_int_equal(glob("fixtures/*/*.json", 0, NULL, &found), 0);
    assert_int_equal(glob("fixtures/inspector-*/*.log", GLOB_APPEND, NULL, &found), 0);
    for (size_t n = 0; n < found.gl_pathc; n++) {
        enum { LINES = 20 };
        size_t length, line;
        char *bytes = bytes_of_file(found.gl_pathv[n], &length), *at = bytes;
        for (int i = 0; i < LINES && (line = strcspn(at, "\n")) > 0; i++, at += line + (at[line] != '\0'))
            assert_same_changed(at, line - (at[line - 1] == ','), 3);
        free(bytes);
    }
    globfree(&found);
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
        cmocka_unit_test(small_texts_mean_what_they_mean_to_cjson),
        cmocka_unit_test(depths_are_those_of_cjson),
        cmocka_unit_test(traces_mean_what_they_mean_to_cjson),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}

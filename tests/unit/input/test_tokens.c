#include "base/base.h"
#include "input/input.h"

#include "support/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64];

static int make_path(void **state)
{
    snprintf(path, sizeof path, "/tmp/ncclprof-tokens-%ld", (long)getpid());
    return 0;
}

static int remove_path(void **state)
{
    unlink(path);
    return 0;
}

static struct input *open_text(const char *text, size_t length)
{
    struct error error = ERROR_INIT;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    struct input *input = input_open(path, NULL, &error);
    assert_non_null(input);
    return input;
}

/*
 * "path key=value" for each, "!text" for damage, "~text" for what is too long, "<text" where it is truncated.
 */
static void append(struct buffer *seen, const struct tokens_value *value)
{
    static const char signs[] = {[TOKENS_DAMAGE] = '!', [TOKENS_TOO_LONG] = '~', [TOKENS_CUT] = '<'};
    if (value->kind == TOKENS_VALUE)
        buffer_printf(seen, "%zu %.*s=", value->path, (int)value->key.length, value->key.text);
    else
        buffer_append_byte(seen, signs[value->kind]);
    size_t length = value->value.length < 60 ? value->value.length : 60;
    buffer_append(seen, value->value.text, length);
    buffer_append_byte(seen, ';');
}

/* The pulled tokens; the bytes at each offset are those of the value. */
static struct buffer pull(const char *text, size_t length, const char *const *paths)
{
    struct buffer seen = BUFFER_INIT;
    struct tokens tokens;
    struct tokens_value value;
    struct input *input = open_text(text, length);
    tokens_init(&tokens, input, paths);
    while (tokens_next(&tokens, &value, NULL) == 0 && value.kind != TOKENS_END) {
        assert_true(value.offset + value.value.length <= length);
        assert_memory_equal(text + value.offset, value.value.text, value.value.length);
        append(&seen, &value);
    }
    assert_int_equal(value.kind, TOKENS_END);
    assert_int_equal(value.offset, length);
    input_close(input);
    buffer_append_text(&seen, "");
    return seen;
}

static void assert_pulled(const char *text, const char *const *paths, const char *expected)
{
    struct buffer seen = pull(text, strlen(text), paths);
    assert_string_equal(seen.data, expected);
    buffer_release(&seen);
}

static const char *const events[] = {"*", "info.groups[]", "events[]", NULL};

static void values_come_at_their_longest_path(void **state)
{
    assert_pulled(
        " {\"a\": 1, \"events\": [ {\"b\": [1, {\"c\": \"]}\\\"\"}]}, 2.5e3 ,\"x\" ], "
        "\"info\": {\"rank\": 3, \"groups\": [[0],[1]]}, \"z\": null } ",
        events, "0 a=1;2 ={\"b\": [1, {\"c\": \"]}\\\"\"}]};2 =2.5e3;2 =\"x\";1 =[0];1 =[1];0 z=null;");
    assert_pulled("{\"events\": 5, \"info\": {\"groups\": {}}}", events, "0 events=5;");
    assert_pulled("[[1], 2]", events, "");
}

static void items_of_an_outermost_array_have_a_path(void **state)
{
    static const char *const items[] = {"[]", NULL};
    static const char *const members[] = {"[].a.*", NULL};
    assert_pulled("[{\"a\": {\"b\": 1}}, 7]", items, "0 ={\"a\": {\"b\": 1}};0 =7;");
    assert_pulled("[{\"a\": {\"b\": 1}}, 7]", members, "0 b=1;");
}

static void what_is_torn_off_is_told(void **state)
{
    assert_pulled("{\"events\": [1, {\"b\": \"x", events, "2 =1;<{\"b\": \"x;");
    assert_pulled("{\"events\": [1", events, "<1;");
    assert_pulled("{\"events\": [1,", events, "2 =1;<;");
    assert_pulled("{\"eve", events, "<\"eve;");
    assert_pulled("{\"skipped\": {\"b\": [", (const char *const[]){"a", NULL}, "<;");
    assert_pulled("", events, "");
}

static void reading_goes_on_behind_damage(void **state)
{
    assert_pulled(
        "{\n\"events\": [\n  {\"n\": 1},\n  {\"n\": \"a \" b\"\n  },\n  {\"n\": 3}\n],\n\"z\": 1}\n", events,
        "2 ={\"n\": 1};!{\"n\": \"a \" b\";2 ={\"n\": 3};0 z=1;");
    assert_pulled("{\"events\": [{\"n\": 1} {\"n\": 2}, x {\"n\": 3}, {\"n\": 4}]}", events,
                  "2 ={\"n\": 1};!{\"n\": 2}, x {\"n\": 3}, {\"n\": 4}]};2 ={\"n\": 2};"
                  "2 =x;!{\"n\": 3}, {\"n\": 4}]};2 ={\"n\": 3};2 ={\"n\": 4};");
    assert_pulled("{\"a\": 1} trailing", events, "0 a=1;!trailing;");
    assert_pulled("{\n  \"a\": ]\n  \"b\": 2\n}", events, "!];0 b=2;");
    assert_pulled("{a: 1}", events, "!a: 1};");
}

static void damage_in_a_list_within_ends_with_it(void **state)
{
    assert_pulled("{\n  \"info\": {\"groups\": [\"a\" \"b\"]},\n  \"events\": [1]}", events,
                  "1 =\"a\";!\"b\"]},;2 =1;");
}

/* A thousand items of a few hundred bytes, and one of 700 KiB, which is longer than one read. */
static void values_reach_over_what_is_read_at_once(void **state)
{
    struct buffer text = BUFFER_INIT;
    buffer_append_text(&text, "{\"events\": [");
    for (int i = 0; i < 1000; i++) {
        buffer_printf(&text, "{\"n\": %d, \"pad\": \"", i);
        for (int pad = 0; pad < (i == 500 ? 700 * 1024 : 300 + i); pad++)
            buffer_append_byte(&text, pad % 7 ? 'x' : '{');
        buffer_append_text(&text, "\"}, ");
    }
    buffer_append_text(&text, "0]}");
    struct buffer seen = pull(text.data, text.length, events);
    size_t items = 0;
    for (const char *at = seen.data; (at = strchr(at, ';')); at++)
        items++;
    assert_int_equal(items, 1001);
    assert_null(strchr(seen.data, '!'));
    buffer_release(&seen);
    buffer_release(&text);
}

static void what_is_too_long_is_passed_over(void **state)
{
    struct buffer text = BUFFER_INIT;
    buffer_append_text(&text, "{\"events\": [1, [\"");
    for (int i = 0; i < 3 << 20; i++)
        buffer_append_byte(&text, i % 3 ? ']' : ',');
    buffer_append_text(&text, "\", 3], 2], \"skipped\": 7}");
    struct buffer seen = pull(text.data, text.length, (const char *const[]){"events[]", NULL});
    assert_string_equal(seen.data,
                        "0 =1;~[\",]],]],]],]],]],]],]],]],]],]],]],]],]],]],]],]],]],]],]],;0 =2;");
    buffer_release(&seen);
    buffer_release(&text);
}

static void nesting_has_a_bound(void **state)
{
    struct buffer text = BUFFER_INIT;
    buffer_append_text(&text, "{\"events\": [");
    for (int i = 0; i < 100000; i++)
        buffer_append_byte(&text, '[');
    struct buffer seen = pull(text.data, text.length, events);
    assert_int_equal(seen.data[0], '!');
    assert_int_equal(seen.length, 62);
    buffer_release(&seen);
    buffer_release(&text);
}

static int cursor_sum(const char *text)
{
    struct raw_json_cursor cursor;
    struct raw_json key, value;
    int sum = 0, more;
    raw_json_enter(&cursor, (struct raw_json){text, strlen(text)});
    while ((more = raw_json_next(&cursor, &key, &value)) == 1)
        sum += 100 * (int)key.length + (int)value.length;
    return more < 0 ? -1 : sum;
}

static void a_cursor_goes_through_members_and_items(void **state)
{
    assert_int_equal(cursor_sum("{ \"ab\" : 123 , \"c\": {\"x\": [1]} }"), 203 + 110);
    assert_int_equal(cursor_sum("[1, \"ab\", [2, 3], null]"), 1 + 4 + 6 + 4);
    assert_int_equal(cursor_sum("{}"), 0);
    assert_int_equal(cursor_sum(" [ ] "), 0);
    assert_int_equal(cursor_sum("{\"a\" 1}"), -1);
    assert_int_equal(cursor_sum("{\"a\": 1 \"b\": 2}"), -1);
    assert_int_equal(cursor_sum("{\"a\": }"), -1);
    assert_int_equal(cursor_sum("{\"n\": \"x {\"device\": \"cpu\"} y\", \"a\": 1}"), -1);
    assert_int_equal(cursor_sum("5"), -1);
    assert_int_equal(cursor_sum(""), -1);
}

static void escapes_are_resolved(void **state)
{
    static const char text[] = "a\\n\\\"\\u00e9\\ud83d\\ude00\\u20AC\\x\\ud800\\";
    struct buffer buffer = BUFFER_INIT;
    assert_int_equal(raw_json_unescape((struct raw_json){text, sizeof text - 1}, &buffer), 0);
    assert_string_equal(buffer.data, "a\n\"\xc3\xa9\xf0\x9f\x98\x80\xe2\x82\xac\\x\\ud800\\");
    buffer_release(&buffer);
}

/* Texts one after the other in a file: each begins where the previous one ended. */
static void texts_that_follow_each_other(void **state)
{
    static const char text[] = "{\"a\": 1}\n{\"a\": 2}  [3]";
    static const char *const paths[] = {"a", NULL};
    static const char *const expected[] = {"1", "2"};
    struct input *input = open_text(text, sizeof text - 1);
    struct tokens tokens;
    struct tokens_value value;
    for (size_t i = 0; i < 2; i++) {
        tokens_init(&tokens, input, paths);
        assert_int_equal(tokens_leave(&tokens), 0);
        assert_int_equal(tokens_next(&tokens, &value, NULL), 0);
        assert_int_equal(value.kind, TOKENS_VALUE);
        assert_memory_equal(value.value.text, expected[i], 1);
        assert_int_equal(tokens_leave(&tokens), 0);
        assert_int_equal(tokens_next(&tokens, &value, NULL), 0);
        assert_int_equal(value.kind, TOKENS_DAMAGE);
        assert_int_equal(tokens_leave(&tokens), 1);
    }
    tokens_init(&tokens, input, paths);
    assert_int_equal(tokens_next(&tokens, &value, NULL), 0);
    assert_int_equal(value.kind, TOKENS_END);
    assert_int_equal(tokens_leave(&tokens), 0);
    input_close(input);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_that_follow_each_other),
        cmocka_unit_test(values_come_at_their_longest_path),
        cmocka_unit_test(items_of_an_outermost_array_have_a_path),
        cmocka_unit_test(what_is_torn_off_is_told),
        cmocka_unit_test(reading_goes_on_behind_damage),
        cmocka_unit_test(damage_in_a_list_within_ends_with_it),
        cmocka_unit_test(values_reach_over_what_is_read_at_once),
        cmocka_unit_test(what_is_too_long_is_passed_over),
        cmocka_unit_test(nesting_has_a_bound),
        cmocka_unit_test(a_cursor_goes_through_members_and_items),
        cmocka_unit_test(escapes_are_resolved),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}

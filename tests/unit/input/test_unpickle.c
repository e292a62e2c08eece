#include "input/input.h"
#include "input/json.h"

#include "support/cmocka_all.h"

#include <string.h>

/* A pickle being read, with its bytes written as a C string. */
struct pickle {
    struct values values;
    struct value root;
    struct unpickle_damage damage;
};

enum { MEMORY = 1 << 20 };

static void read_into(struct pickle *pickle, const char *bytes, size_t length)
{
    values_init(&pickle->values, MEMORY);
    assert_int_equal(unpickle(&pickle->values, bytes, length, &pickle->root, &pickle->damage, NULL), 0);
}

#define READ(pickle, bytes) read_into(pickle, bytes, sizeof(bytes) - 1)

static int64_t number(const struct value *value)
{
    assert_non_null(value);
    assert_int_equal(value->kind, VALUE_INTEGER);
    return value->integer;
}

static void assert_refused(const char *bytes, size_t length, const char *what, uint64_t offset)
{
    struct pickle pickle;
    read_into(&pickle, bytes, length);
    assert_non_null(pickle.damage.what);
    assert_non_null(strstr(pickle.damage.what, what));
    assert_int_equal(pickle.damage.offset, offset);
    values_release(&pickle.values);
}

#define ASSERT_REFUSED(bytes, what, offset) assert_refused(bytes, sizeof(bytes) - 1, what, offset)

/* As torch's C++ pickler writes: every container after a MARK, with its number in the memo after it. */
static void what_torch_writes_is_read(void **state)
{
    struct pickle pickle;
    READ(&pickle,
         "\x80\x02}(X\7\0\0\0versionq\0X\4\0\0\0"
         "2.10q\1X\7\0\0\0entriesq\2](}(h\0Nh\1\x8a\x8\1\2\3\4\5\6\7\x80u}(ueh\2G@\x45\0\0\0\0\0\0uq\3.");
    assert_null(pickle.damage.what);
    assert_true(value_is(value_member(&pickle.root, "version"), "2.10"));
    const struct value *entries = &pickle.root.items->items[3];
    const struct value_items *list = value_list(entries);
    assert_int_equal(list->count, 2);
    assert_int_equal(value_member(&list->items[0], "version")->kind, VALUE_NULL);
    assert_true(number(value_member(&list->items[0], "2.10")) == (int64_t)0x8007060504030201U);
    /* Of a key that occurs twice the last value counts. */
    assert_true(value_member(&pickle.root, "entries")->number == 42.0);
    values_release(&pickle.values);
}

/* pickle.dumps({"a": [1, -2, True, ("x",)], 3: 300}, protocol=5) of CPython 3.11, and the same with 2. */
static void what_cpython_writes_is_read(void **state)
{
    struct pickle pickle;
    READ(&pickle,
         "\x80\x05\x95\x1f\0\0\0\0\0\0\0}\x94(\x8c\1a\x94]\x94(K\1J\xfe\xff\xff\xff\x88\x8c\1x\x94\x85\x94"
         "eK\3M,\1u.");
    assert_null(pickle.damage.what);
    const struct value_items *list = value_list(value_member(&pickle.root, "a"));
    assert_int_equal(list->count, 4);
    assert_int_equal(number(&list->items[1]), -2);
    assert_int_equal(list->items[2].kind, VALUE_BOOLEAN);
    assert_true(value_is(&value_list(&list->items[3])->items[0], "x"));
    assert_int_equal(number(&pickle.root.items->items[3]), 300);
    values_release(&pickle.values);
    READ(&pickle, "\x80\x02}q\0X\1\0\0\0aq\1K\1s.");
    assert_null(pickle.damage.what);
    assert_int_equal(number(value_member(&pickle.root, "a")), 1);
    values_release(&pickle.values);
}

static void what_would_run_code_is_refused_by_name(void **state)
{
    ASSERT_REFUSED(
        "\x80\x02"
        "cos\nsystem\nX\1\0\0\0xR.",
        "GLOBAL", 2);
    ASSERT_REFUSED("\x80\x02X\2\0\0\0osR.", "REDUCE", 9);
    ASSERT_REFUSED("\x80\x02}}b.", "BUILD", 4);
    ASSERT_REFUSED("\x80\x02(ios\nsystem\n.", "INST", 3);
    ASSERT_REFUSED("\x80\x02(o.", "OBJ", 3);
    ASSERT_REFUSED("\x80\x02P1\n.", "PERSID", 2);
    ASSERT_REFUSED("\x80\x02NQ.", "BINPERSID", 3);
    ASSERT_REFUSED("\x80\x02)\x81.", "NEWOBJ", 3);
    ASSERT_REFUSED("\x80\x04\x8c\2os\x8c\1x\x93.", "STACK_GLOBAL", 9);
    ASSERT_REFUSED("\x80\x02\x82\1.", "EXT1", 2);
    ASSERT_REFUSED("\x80\x02S'a'\n.", "protocol 0", 2);
}

static void containers_never_come_to_hold_themselves(void **state)
{
    ASSERT_REFUSED("\x80\x02]q\0(h\0e.", "inside itself", 8);
    ASSERT_REFUSED("\x80\x02}q\0(K\1h\0u.", "inside itself", 10);
    /* Two lists, each contained in the other. */
    ASSERT_REFUSED("\x80\x02]q\0]q\1h\0ah\1a.", "inside itself", 13);
}

/* 2^40 elements by reference, with a few bytes per level: as many values as are written. */
static void shared_containers_are_shared(void **state)
{
    struct pickle pickle;
    char bytes[1024] = "\x80\x02](K\1eq\0";
    size_t length = 9;
    for (char i = 0; i < 40; i++) {
        const char level[] = {'0', ']', '(', 'h', i, 'h', i, 'e', 'q', (char)(i + 1)};
        memcpy(bytes + length, level, sizeof level);
        length += sizeof level;
    }
    bytes[length++] = '.';
    read_into(&pickle, bytes, length);
    assert_null(pickle.damage.what);
    assert_int_equal(pickle.root.items->depth, 41);
    assert_ptr_equal(pickle.root.items->items[0].items, pickle.root.items->items[1].items);
    values_release(&pickle.values);
}

static void depth_and_memory_are_bounded(void **state)
{
    struct pickle pickle;
    char bytes[3 * 10000 + 2] = "\x80\x02";
    for (size_t i = 2; i + 1 < sizeof bytes; i += 2)
        memcpy(bytes + i, "](", 2);
    assert_refused(bytes, sizeof bytes, "too deep", 2 + 2 * (VALUE_DEPTH_MOST + 1) + 1);
    memset(bytes + 2, ']', sizeof bytes - 2);
    values_init(&pickle.values, sizeof bytes);
    assert_int_equal(unpickle(&pickle.values, bytes, sizeof bytes, &pickle.root, &pickle.damage, NULL), 0);
    assert_non_null(strstr(pickle.damage.what, "more values"));
    assert_true(pickle.values.bytes <= sizeof bytes);
    values_release(&pickle.values);
}

static void lengths_are_held_against_what_is_left(void **state)
{
    ASSERT_REFUSED(
        "\x80\x02X\xff\xff\xff\xff"
        "abc.",
        "beyond the end", 2);
    ASSERT_REFUSED(
        "\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
        "abc.",
        "beyond the end", 2);
    ASSERT_REFUSED("\x80\x04\x95\xff\0\0\0\0\0\0\0N.", "beyond the end", 2);
    ASSERT_REFUSED("\x80\x02r\xff\xff\xff\xff.", "without its operands", 2);
    ASSERT_REFUSED("\x80\x02Nr\xff\xff\xff\xff.", "memo number", 3);
    ASSERT_REFUSED("\x80\x02h\5.", "memo number", 2);
    ASSERT_REFUSED(
        "\x80\x02\x8a\x09"
        "123456789.",
        "64 bits", 2);
    ASSERT_REFUSED(
        "\x80\x02\x8a\x05"
        "12",
        "beyond the end", 2);
}

static void the_stack_is_never_taken_from_below_a_mark(void **state)
{
    ASSERT_REFUSED("\x80\x02u.", "MARK", 2);
    ASSERT_REFUSED("\x80\x02}(K\1u.", "key without", 6);
    ASSERT_REFUSED("\x80\x02}(a.", "without its operands", 4);
    ASSERT_REFUSED("\x80\x02N(K\1e.", "missing container", 6);
    ASSERT_REFUSED("\x80\x02(.", "STOP", 3);
    ASSERT_REFUSED("\x80\x02NN.", "STOP", 4);
    ASSERT_REFUSED("\x80\x06N.", "protocol", 0);
}

/* Truncated in the second entry: the first is complete, and open containers are marked as truncated. */
static void what_was_read_before_damage_is_kept(void **state)
{
    struct pickle pickle;
    READ(&pickle, "\x80\x02}(X\1\0\0\0vK\7X\1\0\0\0e](}(X\1\0\0\0aK\1u}(X\1\0\0\0aK\2X\1\0\0\0b");
    assert_int_equal(pickle.damage.offset, 47);
    assert_int_equal(number(value_member(&pickle.root, "v")), 7);
    assert_true(pickle.root.items->is_cut);
    const struct value_items *entries = value_list(value_member(&pickle.root, "e"));
    assert_int_equal(entries->count, 2);
    assert_true(entries->is_cut);
    assert_false(entries->items[0].items->is_cut);
    assert_true(entries->items[1].items->is_cut);
    assert_int_equal(entries->items[1].items->count, 2);
    values_release(&pickle.values);
}

static void bytes_behind_the_end_are_told(void **state)
{
    ASSERT_REFUSED("\x80\x02N.N.", "after the end", 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_torch_writes_is_read),
        cmocka_unit_test(what_cpython_writes_is_read),
        cmocka_unit_test(what_would_run_code_is_refused_by_name),
        cmocka_unit_test(containers_never_come_to_hold_themselves),
        cmocka_unit_test(shared_containers_are_shared),
        cmocka_unit_test(depth_and_memory_are_bounded),
        cmocka_unit_test(lengths_are_held_against_what_is_left),
        cmocka_unit_test(the_stack_is_never_taken_from_below_a_mark),
        cmocka_unit_test(what_was_read_before_damage_is_kept),
        cmocka_unit_test(bytes_behind_the_end_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

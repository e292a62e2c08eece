#include "base/base.h"
#include "model/internal.h"
#include "model/model.h"

#include "support/cmocka_all.h"
#include "support/random.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 2000 };

/* A column is of one kind: steps of one length, small steps, or arbitrary values. */
static int64_t random_value(unsigned temper, int64_t before)
{
    switch (temper) {
    case 0:
        return 7;
    case 1:
        return (int64_t)((uint64_t)before + 1000);
    case 2:
        return (int64_t)((uint64_t)before + random_number() % 300);
    case 3:
        return (int64_t)(random_number() >> random_number() % 64);
    default:
        return random_number() % 2 ? INT64_MIN + (int64_t)(random_number() % 3)
                                   : INT64_MAX - (int64_t)(random_number() % 3);
    }
}

static void assert_same_column(const int64_t *values, const uint8_t *absent, size_t count)
{
    struct buffer buffer = BUFFER_INIT;
    int64_t back[COLUMN_ROWS];
    uint8_t back_absent[COLUMN_ROWS];
    assert_int_equal(column_pack(&buffer, values, absent, count), 0);
    assert_int_equal(column_unpack(buffer.data, buffer.length, count, back, back_absent), 0);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(back_absent[i], absent[i]);
        assert_true(absent[i] || back[i] == values[i]);
    }
    /* Neither less nor more. */
    assert_int_equal(column_unpack(buffer.data, buffer.length - 1, count, back, back_absent), -1);
    assert_int_equal(buffer_append_byte(&buffer, 0), 0);
    assert_int_equal(column_unpack(buffer.data, buffer.length, count, back, back_absent), -1);
    buffer_release(&buffer);
}

static void test_columns_come_back(void **state)
{
    int64_t values[COLUMN_ROWS];
    uint8_t absent[COLUMN_ROWS];
    for (int round = 0; round < ROUNDS; round++) {
        size_t count = 1 + random_number() % COLUMN_ROWS;
        unsigned temper = (unsigned)round % 5, holes = (unsigned)round / 5 % 4;
        int64_t before = (int64_t)random_number();
        for (size_t i = 0; i < count; i++) {
            before = values[i] = random_value(temper, before);
            absent[i] = holes == 1 ? random_number() % 2 : holes == 2 ? 1 : holes == 3 && i == 0;
        }
        assert_same_column(values, absent, count);
    }
}

/*
 * Equal values take almost no space, and so do regular ones; values that differ by up to 255 take one byte.
 */
static void test_columns_are_short(void **state)
{
    static const struct {
        unsigned temper;
        size_t most;
    } cases[] = {{0, 2}, {1, 2 + 10 + 2}, {2, 2 + 10 + 10 + 2 * (COLUMN_ROWS - 1)}};
    int64_t values[COLUMN_ROWS];
    uint8_t absent[COLUMN_ROWS] = {0};
    for (size_t at = 0; at < sizeof cases / sizeof *cases; at++) {
        struct buffer buffer = BUFFER_INIT;
        int64_t before = 1795218000257500;
        for (size_t i = 0; i < COLUMN_ROWS; i++)
            before = values[i] = random_value(cases[at].temper, before);
        assert_int_equal(column_pack(&buffer, values, absent, COLUMN_ROWS), 0);
        assert_in_range(buffer.length, 1, cases[at].most);
        buffer_release(&buffer);
    }
}

enum { AT, END, NAME, BLOB, COLUMNS };

static const struct block_column columns[COLUMNS] = {
    [END] = {.minus = 1 + AT},
    [NAME] = {.type = BLOCK_TEXT},
    [BLOB] = {.type = BLOCK_BYTES},
};
static const struct block_layout layout = {columns, COLUMNS, COLUMNS};

/* Row i, with every third value absent, in each column another third. */
static void put_row(struct block_writer *writer, int64_t i)
{
    char name[8] = {'a', (char)('a' + i % 5)}, blob[3] = {0, (char)i, 'x'};
    block_add_row(writer);
    if (i % 3 != 0)
        block_set(writer, AT, INT64_MAX - i);
    if (i % 3 != 1)
        block_set(writer, END, INT64_MIN + i);
    block_set_text(writer, NAME, i % 3 != 2 ? name : NULL);
    block_set_bytes(writer, BLOB, i % 3 != 2 ? blob : NULL, (size_t)(i % 4));
}

static void assert_row(const struct block_reader *reader, int64_t i)
{
    size_t row = (size_t)i, length;
    char name[8] = {'a', (char)('a' + i % 5)}, blob[3] = {0, (char)i, 'x'};
    assert_true(block_value(reader, AT, row, 1) == (i % 3 != 0 ? INT64_MAX - i : 1));
    assert_true(block_value(reader, END, row, 2) == (i % 3 != 1 ? INT64_MIN + i : 2));
    const char *text = block_text(reader, NAME, row);
    const void *bytes = block_bytes(reader, BLOB, row, &length);
    if (i % 3 == 2) {
        assert_null(text);
        assert_null(bytes);
        return;
    }
    assert_string_equal(text, name);
    assert_int_equal(length, i % 4);
    assert_memory_equal(bytes, blob, length);
}

static void make_block(struct buffer *buffer, size_t rows)
{
    struct block_writer writer;
    assert_int_equal(block_writer_init(&writer, &layout), 0);
    /* The writer is empty when it is used again. */
    for (int time = 0; time < 2; time++) {
        buffer_clear(buffer);
        for (size_t i = 0; i < rows; i++)
            put_row(&writer, (int64_t)i);
        assert_int_equal(block_pack(&writer, buffer), 0);
    }
    block_writer_release(&writer);
}

/* Blocks with and without values of a column follow each other in one reader, longer and shorter. */
static void test_absent_columns_of_a_reader_in_turn(void **state)
{
    static const size_t rows[] = {10, 5, 7, 20, 3, 12};
    struct block_writer writer;
    struct block_reader reader;
    struct buffer buffer = BUFFER_INIT;
    int no_memory;
    assert_int_equal(block_writer_init(&writer, &layout), 0);
    block_reader_init(&reader, &layout);
    for (size_t block = 0; block < sizeof rows / sizeof *rows; block++) {
        int has_values = block == 1 || block == 4;
        for (size_t i = 0; i < rows[block]; i++) {
            block_add_row(&writer);
            if (has_values)
                block_set(&writer, AT, (int64_t)i + 1);
        }
        buffer_clear(&buffer);
        assert_int_equal(block_pack(&writer, &buffer), 0);
        assert_int_equal(block_open(&reader, buffer.data, buffer.length, &no_memory), 0);
        assert_int_equal(block_column(&reader, AT, &no_memory), 0);
        for (size_t i = 0; i < rows[block]; i++) {
            assert_int_equal(reader.absent[AT][i], !has_values);
            assert_int_equal(reader.values[AT][i], has_values ? i + 1 : 0);
        }
    }
    block_reader_release(&reader);
    block_writer_release(&writer);
    buffer_release(&buffer);
}

/* One row with one value, in the first form, of a table that has got more columns since then. */
static void test_older_blocks_lack_younger_columns(void **state)
{
    static const struct block_column three[3] = {{.type = BLOCK_INTEGER}, {.minus = 1}, {.type = BLOCK_TEXT}};
    static const struct block_layout one = {three, 1, 1}, grown = {three, 3, 1};
    /* Form, rows; the column: its length, its form (offsets of no bytes) and its only value, 7; texts. */
    static const unsigned char first_form[] = {1, 1, 2, 1, 14, 0};
    struct block_reader reader;
    int no_memory;
    block_reader_init(&reader, &grown);
    assert_int_equal(block_open(&reader, first_form, sizeof first_form, &no_memory), 0);
    for (int column = 0; column < 3; column++)
        assert_int_equal(block_column(&reader, column, &no_memory), 0);
    assert_int_equal(block_value(&reader, 0, 0, -1), 7);
    assert_int_equal(block_value(&reader, 1, 0, -1), -1);
    assert_null(block_text(&reader, 2, 0));
    block_reader_release(&reader);
    /* A block with more columns than are known does not belong to the table. */
    struct block_writer writer;
    struct buffer buffer = BUFFER_INIT;
    assert_int_equal(block_writer_init(&writer, &grown), 0);
    block_add_row(&writer);
    block_set(&writer, 1, 5);
    assert_int_equal(block_pack(&writer, &buffer), 0);
    block_writer_release(&writer);
    block_reader_init(&reader, &one);
    assert_int_equal(block_open(&reader, buffer.data, buffer.length, &no_memory), -1);
    assert_int_equal(no_memory, 0);
    block_reader_release(&reader);
    buffer_release(&buffer);
}

static void test_blocks_come_back(void **state)
{
    static const size_t sizes[] = {1, 2, 3, 100, BLOCK_ROWS};
    struct buffer buffer = BUFFER_INIT;
    struct block_reader reader;
    int no_memory;
    block_reader_init(&reader, &layout);
    for (size_t at = 0; at < sizeof sizes / sizeof *sizes; at++) {
        make_block(&buffer, sizes[at]);
        assert_int_equal(block_open(&reader, buffer.data, buffer.length, &no_memory), 0);
        assert_int_equal(reader.count, sizes[at]);
        /* In reverse order: columns on which another one depends are unpacked automatically. */
        for (int column = COLUMNS - 1; column >= 0; column--)
            assert_int_equal(block_column(&reader, column, &no_memory), 0);
        for (size_t i = 0; i < sizes[at]; i++)
            assert_row(&reader, (int64_t)i);
    }
    block_reader_release(&reader);
    buffer_release(&buffer);
}

/* Arbitrary bytes: never read outside, and a block that can be opened can be read to its end. */
static void test_damage_is_survived(void **state)
{
    struct buffer buffer = BUFFER_INIT;
    struct block_reader reader;
    int no_memory, opened = 0;
    block_reader_init(&reader, &layout);
    make_block(&buffer, 50);
    for (int round = 0; round < 20000; round++) {
        size_t length = random_number() % 4 ? buffer.length : random_number() % buffer.length;
        char *bytes = malloc(length ? length : 1);
        assert_non_null(bytes);
        memcpy(bytes, buffer.data, length);
        for (int hits = (int)(random_number() % 4); hits > 0 && length; hits--)
            bytes[random_number() % length] = (char)random_number();
        int whole = block_open(&reader, bytes, length, &no_memory) == 0;
        free(bytes);
        for (int column = 0; column < COLUMNS && whole; column++)
            whole = block_column(&reader, column, &no_memory) == 0;
        size_t bytes_of_row;
        for (size_t i = 0; whole && i < reader.count; i++) {
            block_text(&reader, NAME, i);
            block_bytes(&reader, BLOB, i, &bytes_of_row);
            assert_in_range(bytes_of_row, 0, buffer.length);
        }
        assert_false(no_memory);
        opened += whole;
    }
    assert_in_range(opened, 1000, 19000);
    block_reader_release(&reader);
    buffer_release(&buffer);
}

static const char *renamed_text(void *context, const char *text)
{
    ++*(int *)context;
    return strcmp(text, "secret") == 0 ? "tag#1" : text;
}

/* Other columns, and bytes behind the texts, stay as they are. */
static void test_texts_are_renamed(void **state)
{
    static const struct block_column three[] = {
        {.type = BLOCK_INTEGER}, {.type = BLOCK_TEXT}, {.type = BLOCK_BYTES}};
    static const struct block_layout of_three = {three, 3, 3};
    struct block_writer writer;
    struct block_reader reader;
    struct buffer buffer = BUFFER_INIT, renamed = BUFFER_INIT;
    int no_memory, count = 0;
    size_t length;
    assert_int_equal(block_writer_init(&writer, &of_three), 0);
    for (int64_t i = 0; i < 3; i++) {
        block_add_row(&writer);
        block_set(&writer, 0, 7 * i);
        block_set_text(&writer, 1, i == 1 ? "other" : "secret");
        block_set_bytes(&writer, 2, "abc", (size_t)i + 1);
    }
    assert_int_equal(block_pack(&writer, &buffer), 0);
    assert_int_equal(block_rename(buffer.data, buffer.length, &of_three, renamed_text, &count, &renamed), 0);
    assert_int_equal(count, 2);
    assert_null(memmem(renamed.data, renamed.length, "secret", 6));
    block_reader_init(&reader, &of_three);
    assert_int_equal(block_open(&reader, renamed.data, renamed.length, &no_memory), 0);
    for (int column = 0; column < 3; column++)
        assert_int_equal(block_column(&reader, column, &no_memory), 0);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(reader.values[0][i], 7 * i);
        assert_string_equal(block_text(&reader, 1, i), i == 1 ? "other" : "tag#1");
        assert_memory_equal(block_bytes(&reader, 2, i, &length), "abc", i + 1);
        assert_int_equal(length, i + 1);
    }
    buffer_clear(&renamed);
    assert_int_equal(block_rename(buffer.data, buffer.length / 2, &of_three, renamed_text, &count, &renamed),
                     -1);
    block_reader_release(&reader);
    block_writer_release(&writer);
    buffer_release(&renamed);
    buffer_release(&buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns_come_back),
        cmocka_unit_test(test_columns_are_short),
        cmocka_unit_test(test_absent_columns_of_a_reader_in_turn),
        cmocka_unit_test(test_older_blocks_lack_younger_columns),
        cmocka_unit_test(test_blocks_come_back),
        cmocka_unit_test(test_damage_is_survived),
        cmocka_unit_test(test_texts_are_renamed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "base/base.h"
#include "output/parquet.h"

#include "support/cmocka_all.h"

#include "support/random.h"

#include <stdlib.h>
#include <string.h>

#define ASSERT_HYBRID(values, width, expected) \
    assert_hybrid(values, sizeof(values) / sizeof *(values), width, expected, sizeof(expected) - 1)

static void assert_hybrid(const uint32_t *values, size_t count, unsigned width, const void *expected,
                          size_t length)
{
    struct buffer buffer = BUFFER_INIT;
    assert_int_equal(parquet_hybrid_append(&buffer, values, count, width), 0);
    assert_int_equal(buffer.length, length);
    assert_memory_equal(buffer.data, expected, length);
    buffer_release(&buffer);
}

/* Encodings.md: 0 to 7 in three bits each are 10001000 11000110 11111010; one group of eight comes first. */
static void test_the_example_of_the_format(void **state)
{
    const uint32_t values[] = {0, 1, 2, 3, 4, 5, 6, 7};
    ASSERT_HYBRID(values, 3, "\x03\x88\xc6\xfa");
}

static void test_runs(void **state)
{
    uint32_t values[100];
    for (int i = 0; i < 100; i++)
        values[i] = 4;
    ASSERT_HYBRID(values, 3, "\xc8\x01\x04"); /* 100 << 1, as a varint */
    for (int i = 0; i < 100; i++)
        values[i] = 0x01020304;
    ASSERT_HYBRID(values, 25, "\xc8\x01\x04\x03\x02\x01"); /* 25 bits take four bytes */
}

static void test_what_the_last_eight_lack_is_0(void **state)
{
    const uint32_t values[] = {1, 0, 1};
    ASSERT_HYBRID(values, 1, "\x03\x05");
}

/* A run from which the group before it is filled. */
static void test_packed_then_a_run(void **state)
{
    const uint32_t values[] = {0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    ASSERT_HYBRID(values, 1, "\x03\xfe\x14\x01");
}

/* The rest of it would be too short for a run. */
static void test_short_runs_are_packed(void **state)
{
    const uint32_t values[] = {0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0};
    ASSERT_HYBRID(values, 1, "\x05\xfe\x0f");
}

static void test_nothing(void **state)
{
    struct buffer buffer = BUFFER_INIT;
    assert_int_equal(parquet_hybrid_append(&buffer, NULL, 0, 1), 0);
    assert_int_equal(buffer.length, 0);
    buffer_release(&buffer);
}

static uint64_t read_varint(const unsigned char **at)
{
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        unsigned char byte = *(*at)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
}

/* Bit by bit, by the specification of the format. Returns the number of values. */
static size_t decode(const struct buffer *buffer, unsigned width, uint32_t *values, size_t most)
{
    const unsigned char *at = (const unsigned char *)buffer->data, *end = at + buffer->length;
    size_t count = 0;
    while (at < end) {
        uint64_t head = read_varint(&at), bytes = head & 1 ? (head >> 1) * width : (width + 7) / 8;
        size_t run = head & 1 ? (size_t)(head >> 1) * 8 : (size_t)(head >> 1);
        assert_true(bytes <= (uint64_t)(end - at) && run > 0 && count + run <= most);
        for (size_t i = 0; i < run; i++) {
            uint32_t value = 0;
            for (unsigned bit = 0; bit < width; bit++) {
                size_t place = (head & 1 ? i * width : 0) + bit;
                value |= (uint32_t)(at[place / 8] >> place % 8 & 1) << bit;
            }
            values[count++] = value;
        }
        at += bytes;
    }
    return count;
}

static void test_all_widths_read_back(void **state)
{
    enum { COUNT = 3000 };
    uint32_t *values = array_new(COUNT, sizeof *values), *found = array_new(COUNT + 8, sizeof *found);
    assert_true(values && found);
    for (unsigned width = 1; width <= 32; width++) {
        struct buffer buffer = BUFFER_INIT;
        for (size_t i = 0; i < COUNT;) {
            uint32_t value = (uint32_t)random_number() >> (32 - width);
            size_t run = 1 + random_number() % (i % 3 ? 30 : 2);
            while (run-- && i < COUNT)
                values[i++] = value;
        }
        assert_int_equal(parquet_hybrid_append(&buffer, values, COUNT, width), 0);
        size_t count = decode(&buffer, width, found, COUNT + 8);
        assert_in_range(count, COUNT, COUNT + 7);
        assert_memory_equal(found, values, COUNT * sizeof *values);
        for (size_t i = COUNT; i < count; i++)
            assert_int_equal(found[i], 0);
        buffer_release(&buffer);
    }
    free(values);
    free(found);
}

static void test_widths(void **state)
{
    assert_int_equal(parquet_hybrid_width(0), 1);
    assert_int_equal(parquet_hybrid_width(1), 1);
    assert_int_equal(parquet_hybrid_width(2), 2);
    assert_int_equal(parquet_hybrid_width(255), 8);
    assert_int_equal(parquet_hybrid_width(256), 9);
    assert_int_equal(parquet_hybrid_width(UINT32_MAX), 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_example_of_the_format),     cmocka_unit_test(test_runs),
        cmocka_unit_test(test_what_the_last_eight_lack_is_0), cmocka_unit_test(test_packed_then_a_run),
        cmocka_unit_test(test_short_runs_are_packed),         cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_all_widths_read_back),          cmocka_unit_test(test_widths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

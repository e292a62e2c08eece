#include "model/internal.h"
#include "model/model.h"

#include "support/cmocka_all.h"
#include "support/random.h"

#include <string.h>

/* Numbers of any length, in the middle of others and at the very end. */

enum { BYTES = 64 };

/*
 * By definition: seven bits per byte, until one has no top bit. Returns the number of bytes; 0: there is no
 * number.
 */
static size_t read_by_definition(const unsigned char *bytes, size_t length, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < length && i < 10; i++) {
        uint64_t seven = bytes[i] & 0x7f;
        if (seven << 7 * i >> 7 * i != seven)
            return 0;
        *value |= seven << 7 * i;
        if (bytes[i] < 0x80)
            return i + 1;
    }
    return 0;
}

static void assert_read(const unsigned char *bytes, size_t length)
{
    uint64_t wanted, value;
    size_t used = read_by_definition(bytes, length, &wanted);
    const unsigned char *at = bytes;
    assert_int_equal(varint_get(&at, bytes + length, &value), used ? 0 : -1);
    if (!used)
        return;
    assert_int_equal(at - bytes, used);
    assert_true(value == wanted);
}

static void what_is_put_comes_back(void **state)
{
    for (unsigned bits = 0; bits <= 64; bits++)
        for (size_t behind = 0; behind < VARINT_BYTES; behind++) {
            uint64_t value = bits ? UINT64_MAX >> (64 - bits) : 0, got;
            unsigned char bytes[BYTES];
            memset(bytes, 0xff, sizeof bytes);
            size_t length = (size_t)(varint_write((char *)bytes, value) - (char *)bytes);
            const unsigned char *at = bytes;
            assert_int_equal(varint_get(&at, bytes + length + behind, &got), 0);
            assert_true(got == value);
            assert_int_equal(at - bytes, length);
            at = bytes;
            assert_int_equal(varint_get(&at, bytes + length - 1, &got), -1);
        }
}

static void signed_ones_are_folded(void **state)
{
    static const int64_t values[] = {0, -1, 1, -64, 64, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char bytes[VARINT_BYTES];
        const unsigned char *at = (const unsigned char *)bytes, *end;
        int64_t got;
        end = (const unsigned char *)varint_write_signed(bytes, values[i]);
        assert_int_equal(varint_get_signed(&at, end, &got), 0);
        assert_true(got == values[i]);
        assert_ptr_equal(at, end);
    }
}

/* Longer than necessary, too long, and truncated. */
static void any_bytes_are_read_alike(void **state)
{
    for (int round = 0; round < 20000; round++) {
        unsigned char bytes[BYTES];
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (unsigned char)(random_number() | (random_number() % 8 ? 0x80 : 0));
        for (size_t i = 1; i < 10 && round % 3 == 0; i++)
            bytes[i] &= 0x80;
        assert_read(bytes, (size_t)(random_number() % 14));
        assert_read(bytes, sizeof bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_put_comes_back),
                                       cmocka_unit_test(signed_ones_are_folded),
                                       cmocka_unit_test(any_bytes_are_read_alike)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

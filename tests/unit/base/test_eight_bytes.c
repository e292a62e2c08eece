/* Text in pieces of eight bytes, compared with loops over its bytes. */
#include "base/base.h"
#include "support/cmocka_all.h"
#include "support/random.h"

#include <string.h>

static size_t count_while(const char *text, size_t length, int (*is_one)(char byte))
{
    size_t count = 0;
    while (count < length && is_one(text[count]))
        count++;
    return count;
}

static int is_plain(char byte)
{
    return byte != '"' && byte != '\\' && (unsigned char)byte >= 0x20;
}

static int is_blank(char byte)
{
    return byte == ' ';
}

static int is_number_byte(char byte)
{
    return is_digit(byte);
}

/* Every byte at every place, after bytes that continue the count. */
static void counts_like_a_loop(void **state)
{
    for (int byte = 0; byte < 256; byte++)
        for (size_t place = 0; place < 8; place++) {
            char plain[8], blanks[8], digits[8];
            for (size_t i = 0; i < 8; i++) {
                int is_last = i >= place;
                plain[i] = is_last ? (char)(i == place ? byte : (int)random_number()) : 'x';
                blanks[i] = is_last ? (char)(i == place ? byte : (int)random_number()) : ' ';
                digits[i] = is_last ? (char)(i == place ? byte : (int)random_number()) : '7';
            }
            assert_int_equal(eight_plain(eight_bytes(plain)), count_while(plain, 8, is_plain));
            assert_int_equal(eight_spaces(eight_bytes(blanks)), count_while(blanks, 8, is_blank));
            assert_int_equal(eight_digits(eight_bytes(digits)), count_while(digits, 8, is_number_byte));
        }
}

static void reads_numbers(void **state)
{
    static const char text[] = "98765432";
    uint64_t expected = 0;
    for (unsigned digits = 1; digits <= 8; digits++) {
        expected = expected * 10 + (uint64_t)(text[digits - 1] - '0');
        assert_int_equal(eight_number(eight_bytes(text), digits), expected);
    }
}

/* It may leave up to seven bytes, but never passes one that is not plain. */
static void skips_plain_bytes(void **state)
{
    char text[40];
    for (size_t length = 0; length <= sizeof text; length++)
        for (size_t place = 0; place <= length; place++) {
            memset(text, 'x', sizeof text);
            if (place < length)
                text[place] = '"';
            size_t skipped = (size_t)(skip_plain(text, text + length) - text);
            assert_true(skipped <= place);
            assert_true(skipped == place || length - skipped < 8);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_like_a_loop),
        cmocka_unit_test(reads_numbers),
        cmocka_unit_test(skips_plain_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

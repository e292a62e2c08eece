#include "input/number.h"

/* digits x 10^exponent, with the sign apart: what any JSON number is. */
struct decimal {
    uint64_t digits;
    int exponent;
    int negative;
    int inexact; /* digits beyond those that fit were not zero */
    int beyond;  /* ... the first of them: for rounding */
};

enum { EXPONENT_MOST = 10000 };

static size_t count_digits(const char *text, size_t length)
{
    size_t count = 0;
    while (count < length && text[count] >= '0' && text[count] <= '9')
        count++;
    return count;
}

/* Takes digits in; those that do not fit in 64 bits any more only move the exponent. */
static void add_digits(struct decimal *decimal, const char *text, size_t length, int is_fraction)
{
    for (size_t i = 0; i < length; i++) {
        unsigned digit = (unsigned)(text[i] - '0');
        if (decimal->beyond < 0 && decimal->digits <= (UINT64_MAX - digit) / 10) {
            decimal->digits = decimal->digits * 10 + digit;
            decimal->exponent -= is_fraction;
            continue;
        }
        if (decimal->beyond < 0)
            decimal->beyond = (int)digit;
        decimal->inexact |= digit != 0;
        decimal->exponent += !is_fraction;
    }
}

static int read_exponent(const char *text, size_t length, int *exponent)
{
    int negative = length > 0 && text[0] == '-';
    int value = 0;
    size_t at = length > 0 && (text[0] == '-' || text[0] == '+');
    if (at == length || count_digits(text + at, length - at) != length - at)
        return -1;
    for (; at < length; at++)
        if (value < EXPONENT_MOST)
            value = value * 10 + (text[at] - '0');
    *exponent = negative ? -value : value;
    return 0;
}

static int read_decimal(const char *text, size_t length, struct decimal *decimal)
{
    size_t at = length > 0 && text[0] == '-';
    size_t whole = count_digits(text + at, length - at);
    int exponent = 0;
    *decimal = (struct decimal){.negative = (int)at, .beyond = -1};
    if (whole == 0)
        return -1;
    add_digits(decimal, text + at, whole, 0);
    at += whole;
    if (at < length && text[at] == '.') {
        size_t fraction = count_digits(text + at + 1, length - at - 1);
        if (fraction == 0)
            return -1;
        add_digits(decimal, text + at + 1, fraction, 1);
        at += 1 + fraction;
    }
    if (at == length)
        return 0;
    if ((text[at] != 'e' && text[at] != 'E') || read_exponent(text + at + 1, length - at - 1, &exponent))
        return -1;
    decimal->exponent += exponent;
    return 0;
}

int number_is_json(const char *text, size_t length)
{
    struct decimal decimal;
    size_t first = length > 0 && text[0] == '-';
    if (length > first + 1 && text[first] == '0' && text[first + 1] >= '0' && text[first + 1] <= '9')
        return 0;
    return read_decimal(text, length, &decimal) == 0;
}

/* digits x 10^exponent as an integer; -1 when it has a fraction or does not fit. */
static int whole_number(const struct decimal *decimal, uint64_t *value)
{
    *value = decimal->digits;
    if (decimal->inexact)
        return -1;
    for (int i = decimal->exponent; i < 0 && *value != 0; i++) {
        if (*value % 10)
            return -1;
        *value /= 10;
    }
    for (int i = decimal->exponent; i > 0 && *value != 0; i--)
        if (__builtin_mul_overflow(*value, 10U, value))
            return -1;
    return 0;
}

static int with_sign(uint64_t magnitude, int negative, int64_t *value)
{
    if (magnitude > (uint64_t)INT64_MAX + (negative ? 1U : 0U))
        return -1;
    *value = (int64_t)(negative ? 0 - magnitude : magnitude);
    return 0;
}

int number_uint64(const char *text, size_t length, uint64_t *value)
{
    struct decimal decimal;
    uint64_t magnitude;
    if (read_decimal(text, length, &decimal) || whole_number(&decimal, &magnitude))
        return -1;
    if (decimal.negative && magnitude != 0)
        return -1;
    *value = magnitude;
    return 0;
}

int number_int64(const char *text, size_t length, int64_t *value)
{
    struct decimal decimal;
    uint64_t magnitude;
    if (read_decimal(text, length, &decimal) || whole_number(&decimal, &magnitude))
        return -1;
    return with_sign(magnitude, decimal.negative, value);
}

static int hexadecimal_digit(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    if (byte >= 'a' && byte <= 'f')
        return byte - 'a' + 10;
    if (byte >= 'A' && byte <= 'F')
        return byte - 'A' + 10;
    return -1;
}

int number_hexadecimal(const char *text, size_t length, uint64_t *value)
{
    uint64_t result = 0;
    if (length > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        text += 2;
        length -= 2;
    }
    if (length == 0)
        return -1;
    for (size_t i = 0; i < length; i++) {
        int digit = hexadecimal_digit(text[i]);
        if (digit < 0 || result >> 60)
            return -1;
        result = result << 4 | (uint64_t)digit;
    }
    *value = result;
    return 0;
}

int number_microseconds_ns(const char *text, size_t length, int64_t *ns)
{
    struct decimal decimal;
    if (read_decimal(text, length, &decimal))
        return -1;
    decimal.exponent += 3;
    uint64_t value = decimal.digits;
    unsigned last = decimal.beyond > 0 && decimal.exponent == 0 ? (unsigned)decimal.beyond : 0;
    for (int i = decimal.exponent; i < 0 && (value != 0 || last != 0); i++) {
        last = (unsigned)(value % 10);
        value /= 10;
    }
    for (int i = decimal.exponent; i > 0 && value != 0; i--)
        if (__builtin_mul_overflow(value, 10U, &value))
            return -1;
    if (last >= 5)
        value++;
    return value > NUMBER_MOST_NS ? -1 : with_sign(value, decimal.negative, ns);
}

int number_fits(const char *text, size_t length)
{
    int64_t integer;
    uint64_t natural;
    return number_int64(text, length, &integer) == 0 || number_uint64(text, length, &natural) == 0 ||
           number_microseconds_ns(text, length, &integer) == 0;
}

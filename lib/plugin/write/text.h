/*
 * Building lines of text fast, without printf. A buffer never grows: whoever starts a line makes sure by
 * sink_line() that TEXT_LINE_MAX bytes are free, and no line is longer.
 */
#ifndef PLUGIN_WRITE_TEXT_H
#define PLUGIN_WRITE_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TEXT_LINE_MAX (128u << 10)
#define TEXT_DIGITS 20 /* of the largest 64-bit number */

struct text {
    char *bytes;
    size_t length;
};

static inline void text_bytes(struct text *text, const char *from, size_t length)
{
    memcpy(text->bytes + text->length, from, length);
    text->length += length;
}

/* For string literals alone: their length is known when compiling. */
#define text_literal(text, literal) text_bytes((text), "" literal "", sizeof(literal) - 1)

static inline void text_string(struct text *text, const char *from)
{
    text_bytes(text, from, strlen(from));
}

/* Writes value's last digits, two at a time, before `end`; returns where they begin. */
static inline char *text_digits(char *end, uint64_t value)
{
    static const char pairs[] =
        "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
        "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
        "8081828384858687888990919293949596979899";
    for (; value >= 100; value /= 100)
        memcpy(end -= 2, pairs + value % 100 * 2, 2);
    if (value < 10)
        *--end = (char)('0' + value);
    else
        memcpy(end -= 2, pairs + value * 2, 2);
    return end;
}

static inline void text_unsigned(struct text *text, uint64_t value)
{
    char digits[2 * TEXT_DIGITS] = {0};
    const char *first = text_digits(digits + TEXT_DIGITS, value);
    /* A copy of fixed length is a few instructions; what is too much of it is written over next. */
    memcpy(text->bytes + text->length, first, TEXT_DIGITS);
    text->length += (size_t)(digits + TEXT_DIGITS - first);
}

static inline void text_signed(struct text *text, int64_t value)
{
    if (value < 0)
        text_literal(text, "-");
    text_unsigned(text, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/* Nanoseconds as microseconds with six decimals, as printf's %f shows them. */
static inline void text_microseconds(struct text *text, uint64_t ns)
{
    unsigned below = (unsigned)(ns % 1000);
    char decimals[8] = {'.',
                        (char)('0' + below / 100),
                        (char)('0' + below / 10 % 10),
                        (char)('0' + below % 10),
                        '0',
                        '0',
                        '0',
                        0};
    text_unsigned(text, ns / 1000);
    memcpy(text->bytes + text->length, decimals, sizeof(decimals));
    text->length += sizeof(decimals) - 1;
}

static inline void text_hexadecimal(struct text *text, uint64_t value)
{
    char digits[16];
    size_t at = sizeof(digits);
    do {
        digits[--at] = "0123456789abcdef"[value % 16];
        value /= 16;
    } while (value);
    text_literal(text, "0x");
    text_bytes(text, digits + at, sizeof(digits) - at);
}

/* The inside of a JSON string: escaped, and bytes that are not UTF-8 become U+FFFD. At most 6 bytes for each.
 */
void text_escaped(struct text *text, const char *from, size_t length);

/* A number with six decimals. */
void text_decimal(struct text *text, double value);

#endif

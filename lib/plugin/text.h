/*
 * Building lines of text fast, without printf. A buffer never grows: whoever starts a line makes sure by
 * sink_line() that TEXT_LINE_MAX bytes are free, and no line is longer.
 */
#ifndef PLUGIN_TEXT_H
#define PLUGIN_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TEXT_LINE_MAX (128u << 10)

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

static inline void text_unsigned(struct text *text, uint64_t value)
{
    char digits[20];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    text_bytes(text, digits + at, sizeof(digits) - at);
}

static inline void text_signed(struct text *text, int64_t value)
{
    if (value < 0)
        text_literal(text, "-");
    text_unsigned(text, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/* value with exactly `digits` digits. */
static inline void text_padded(struct text *text, uint64_t value, unsigned digits)
{
    char *to = text->bytes + text->length;
    for (unsigned i = digits; i-- > 0; value /= 10)
        to[i] = (char)('0' + value % 10);
    text->length += digits;
}

/* Nanoseconds as microseconds with six decimals, as printf's %f shows them. */
static inline void text_microseconds(struct text *text, uint64_t ns)
{
    text_unsigned(text, ns / 1000);
    text_literal(text, ".");
    text_padded(text, ns % 1000, 3);
    text_literal(text, "000");
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

#include "format/scan.h"

#include "input/number.h"
#include "model/event.h"

#include <string.h>

/* Digits that surely fit: 10^18 - 1 is below INT64_MAX. */
enum { INTEGER_DIGITS = 18, UNSIGNED_DIGITS = 19, MICROSECOND_DIGITS = 15, FRACTION_DIGITS = 6 };

/* Eight digits at once: each step joins neighbours. */
static inline uint64_t eight_digits(uint64_t bytes)
{
    bytes = (bytes & 0x0f0f0f0f0f0f0f0fU) * 2561 >> 8;
    bytes = (bytes & 0x00ff00ff00ff00ffU) * 6553601 >> 16;
    return (bytes & 0x0000ffff0000ffffU) * 42949672960001U >> 32;
}

/* The eight bytes at a place, the first one lowest. */
static inline uint64_t eight_bytes(const char *at)
{
    uint64_t bytes;
    memcpy(&bytes, at, sizeof bytes);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bytes = __builtin_bswap64(bytes);
#endif
    return bytes;
}

static inline unsigned digit_of(char byte)
{
    return (unsigned)byte - '0';
}

/* True when the eight bytes, or those of them that the mask keeps, are digits: 3 in the high half, also after
 * adding 6. */
static inline int are_digits(uint64_t bytes, uint64_t mask)
{
    const uint64_t high = 0xf0f0f0f0f0f0f0f0U & mask;
    const uint64_t zeros = 0x3030303030303030U & mask;
    return (((bytes & high) ^ zeros) | (((bytes + 0x0606060606060606U) & high) ^ zeros)) == 0;
}

/* More digits behind those that gave `*value`. */
static inline const char *more_digits(const char *at, const char *end, uint64_t *value)
{
    uint64_t result = *value;
    unsigned digit;
    for (; at < end && (digit = digit_of(*at)) <= 9; at++)
        result = result * 10 + digit;
    *value = result;
    return at;
}

/* Digits as JSON has them: at most `most`, no zero before others. */
static inline const char *if_good(const char *first, const char *at, int most)
{
    return at == first || at - first > most || (*first == '0' && at - first > 1) ? NULL : at;
}

static inline const char *scan_digits(const char *at, const char *end, int most, uint64_t *value)
{
    *value = 0;
    return if_good(at, more_digits(at, end, value), most);
}

/* The same, quicker where there are eight and more of them. */
static inline const char *scan_many_digits(const char *first, const char *end, int most, uint64_t *value)
{
    const char *at = first;
    uint64_t bytes;
    *value = 0;
    while (end - at >= (ptrdiff_t)sizeof bytes && are_digits(bytes = eight_bytes(at), UINT64_MAX)) {
        *value = *value * 100000000 + eight_digits(bytes);
        at += sizeof bytes;
    }
    return if_good(first, more_digits(at, end, value), most);
}

const char *scan_integer(const char *at, const char *end, int64_t *value)
{
    uint64_t magnitude = 0;
    int negative = at < end && *at == '-';
    at = scan_digits(at + negative, end, INTEGER_DIGITS, &magnitude);
    *value = negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return at;
}

static const char *scan_unsigned(const char *at, const char *end, uint64_t *value)
{
    const char *past = scan_many_digits(at, end, UNSIGNED_DIGITS + 1, value);
    uint64_t most = 0;
    if (!past || past - at <= UNSIGNED_DIGITS)
        return past;
    /* Twenty digits fit up to 18446744073709551615. */
    scan_digits(at, at + UNSIGNED_DIGITS, UNSIGNED_DIGITS, &most);
    if (most > UINT64_MAX / 10 ||
        (most == UINT64_MAX / 10 && digit_of(past[-1]) > (unsigned)(UINT64_MAX % 10)))
        return NULL;
    return past;
}

static const char *scan_hexadecimal(const char *at, const char *end, uint64_t *value)
{
    const char *first = at;
    uint64_t result = 0;
    for (; at < end; at++) {
        if (*at >= '0' && *at <= '9')
            result = result << 4 | (uint64_t)(*at - '0');
        else if (*at >= 'a' && *at <= 'f')
            result = result << 4 | (uint64_t)(*at - 'a' + 10);
        else
            break;
    }
    *value = result;
    return at > first && at - first <= 16 ? at : NULL;
}

/*
 * The fraction of "%f" behind its point, six digits of microseconds, rounded to nanoseconds. Point, digits
 * and the byte behind them, which every line has, are taken at once.
 */
static inline const char *scan_fraction(const char *at, const char *end, int64_t *ns)
{
    if (end - at <= FRACTION_DIGITS)
        return NULL;
    uint64_t bytes = eight_bytes(at - 1) >> 8;
    if (!are_digits(bytes, 0x0000ffffffffffffU) || digit_of(at[FRACTION_DIGITS]) <= 9)
        return NULL;
    /* Shifted up by two places, the six digits are the last of eight. */
    *ns = ((int64_t)eight_digits(bytes << 16) + 500) / 1000;
    return at + FRACTION_DIGITS;
}

const char *scan_moment(const char *at, const char *end, int64_t *ns)
{
    uint64_t whole;
    int64_t fraction_ns;
    at = scan_many_digits(at, end, MICROSECOND_DIGITS, &whole);
    if (!at || at == end || *at != '.')
        return NULL;
    at = scan_fraction(at + 1, end, &fraction_ns);
    if (!at)
        return NULL;
    *ns = (int64_t)whole * 1000 + fraction_ns;
    if (*ns == 0)
        *ns = TIME_UNKNOWN;
    return at < end && (*at == 'e' || *at == 'E') ? NULL : at;
}

static const char *scan_microseconds(const char *at, const char *end, int64_t *ns)
{
    uint64_t whole = 0;
    at = scan_many_digits(at, end, INTEGER_DIGITS - 2, &whole);
    *ns = whole > NUMBER_MOST_NS / 1000 || whole == 0 ? TIME_UNKNOWN : (int64_t)whole * 1000;
    return whole > NUMBER_MOST_NS / 1000 ? NULL : at;
}

/* The inside of a string up to its quote: nothing that JSON would take for anything but itself. */
static const char *scan_string(const char *at, const char *end, struct scan_text *text)
{
    text->text = at;
    while (at < end && *at != '"' && *at != '\\' && (unsigned char)*at >= 0x20)
        at++;
    text->length = (size_t)(at - text->text);
    return at < end && *at == '"' ? at : NULL;
}

static const char *scan_datatype_word(const char *at, const char *end, enum datatype *datatype)
{
    const char *first = at;
    while (at < end &&
           ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9')))
        at++;
    *datatype = datatype_from_text(first - 4, (size_t)(at - first) + 4);
    return at;
}

static const char *scan_decimal(const char *at, const char *end)
{
    uint64_t ignored;
    const char *first;
    at = scan_digits(at, end, INTEGER_DIGITS, &ignored);
    if (!at || at == end || *at != '.')
        return at;
    for (first = ++at; at < end && digit_of(*at) <= 9; at++)
        ;
    return at > first ? at : NULL;
}

static const char *scan_string_value(const char *at, const char *end, enum scan_type type, void *into)
{
    struct scan_text text;
    at = scan_string(at, end, &text);
    if (!at)
        return NULL;
    if (type == SCAN_TEXT)
        *(struct scan_text *)into = text;
    else if (type == SCAN_FUNCTION)
        *(enum function *)into = function_from_text(text.text, text.length);
    else if (type == SCAN_DATATYPE)
        *(enum datatype *)into = datatype_from_text(text.text, text.length);
    else if (type == SCAN_ALGORITHM)
        *(enum algorithm *)into = algorithm_from_text(text.text, text.length);
    else
        *(enum protocol *)into = protocol_from_text(text.text, text.length);
    return at;
}

static const char *scan_value(const char *at, const char *end, enum scan_type type, void *into)
{
    int64_t number = 0;
    uint64_t ignored;
    switch (type) {
    case SCAN_NOTHING:
        return at;
    case SCAN_INTEGER:
        return scan_integer(at, end, into);
    case SCAN_UNSIGNED:
        return scan_unsigned(at, end, into);
    case SCAN_HEXADECIMAL:
        return scan_hexadecimal(at, end, into);
    case SCAN_MOMENT:
        return scan_moment(at, end, into);
    case SCAN_MICROSECONDS:
        return scan_microseconds(at, end, into);
    case SCAN_DATATYPE_WORD:
        return scan_datatype_word(at, end, into);
    case SCAN_DATATYPE_NUMBER:
        at = scan_integer(at, end, &number);
        *(enum datatype *)into = datatype_from_nccl(number);
        return at;
    case SCAN_SKIP_INTEGER:
        return scan_integer(at, end, &number);
    case SCAN_SKIP_UNSIGNED:
        return scan_unsigned(at, end, &ignored);
    case SCAN_SKIP_HEXADECIMAL:
        return scan_hexadecimal(at, end, &ignored);
    case SCAN_SKIP_DECIMAL:
        return scan_decimal(at, end);
    default:
        return scan_string_value(at, end, type, into);
    }
}

const char *scan_fields(const char *at, const char *end, const struct scan_field *fields, size_t count,
                        void *into)
{
    for (const struct scan_field *field = fields; field < fields + count; field++) {
        at = scan_words(at, end, field->words, field->length);
        if (!at)
            return NULL;
        at = scan_value(at, end, field->type, (char *)into + field->offset);
        if (!at)
            return NULL;
    }
    return at;
}

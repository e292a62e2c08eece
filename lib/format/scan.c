/*
 * Reads single values of text with a fixed layout: the parts of the fast reader in internal.h that are not
 * inlined.
 */
#include "base/base.h"
#include "format/internal.h"
#include "input/input.h"
#include "model/model.h"

#include <string.h>

/* This many digits always fit: 10^18 - 1 is below INT64_MAX. */
enum { INTEGER_DIGITS = 18, UNSIGNED_DIGITS = 19 };

static inline unsigned digit_of(char byte)
{
    return (unsigned)byte - '0';
}

/* Reads the digits after those already in `*value`. */
static inline const char *more_digits(const char *at, const char *end, uint64_t *value)
{
    uint64_t result = *value;
    unsigned digit;
    for (; at < end && (digit = digit_of(*at)) <= 9; at++)
        result = result * 10 + digit;
    *value = result;
    return at;
}

/* Checks digits by JSON's rules: at most `most`, no leading zero. */
static inline const char *if_good(const char *first, const char *at, int most)
{
    return at == first || at - first > most || (*first == '0' && at - first > 1) ? NULL : at;
}

static inline const char *scan_digits(const char *at, const char *end, int most, uint64_t *value)
{
    *value = 0;
    return if_good(at, more_digits(at, end, value), most);
}

/* The same, faster for longer numbers. */
static const char *scan_many_digits(const char *first, const char *end, int most, uint64_t *value)
{
    static const uint64_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    const char *at = first;
    unsigned digits = 8;
    uint64_t result = 0;
    while (digits == 8 && end - at >= 8) {
        uint64_t bytes = eight_bytes(at);
        digits = eight_digits(bytes);
        if (digits > 0)
            result = result * powers[digits] + eight_number(bytes, digits);
        at += digits;
    }
    *value = result;
    return if_good(first, digits == 8 ? more_digits(at, end, value) : at, most);
}

const char *scan_any_integer(const char *at, const char *end, int64_t *value)
{
    uint64_t magnitude = 0;
    int negative = at < end && *at == '-';
    at = scan_many_digits(at + negative, end, INTEGER_DIGITS, &magnitude);
    *value = negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return at;
}

const char *scan_any_unsigned(const char *at, const char *end, uint64_t *value)
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
        if (is_digit(*at))
            result = result << 4 | (uint64_t)(*at - '0');
        else if (*at >= 'a' && *at <= 'f')
            result = result << 4 | (uint64_t)(*at - 'a' + 10);
        else
            break;
    }
    *value = result;
    return at > first && at - first <= 16 ? at : NULL;
}

static const char *scan_address(const char *at, const char *end, uint64_t *value)
{
    const char *past = scan_words(at, end, SCAN_WORDS("(nil)"));
    *value = 0;
    if (past)
        return past;
    at = scan_words(at, end, SCAN_WORDS("0x"));
    return at ? scan_hexadecimal(at, end, value) : NULL;
}

const char *scan_any_microseconds(const char *at, const char *end, int64_t *ns)
{
    uint64_t whole = 0;
    at = scan_many_digits(at, end, INTEGER_DIGITS - 2, &whole);
    *ns = whole > NUMBER_MOST_NS / 1000 || whole == 0 ? TIME_UNKNOWN : (int64_t)whole * 1000;
    return whole > NUMBER_MOST_NS / 1000 ? NULL : at;
}

const char *scan_any_moment(const char *at, const char *end, int64_t *ns)
{
    const char *past = at;
    while (past < end && (digit_of(*past) <= 9 || (*past != '\0' && strchr("+-.eE", *past))))
        past++;
    if (!number_is_json(at, (size_t)(past - at)) || number_microseconds_ns(at, (size_t)(past - at), ns) ||
        *ns < 0)
        return NULL;
    *ns = *ns > 0 ? *ns : TIME_UNKNOWN;
    return past;
}

static __attribute__((noinline)) const char *scan_moment_of_any_form(const char *at, const char *end,
                                                                     int64_t *ns)
{
    const char *past = scan_moment(at, end, ns);
    return past ? past : scan_any_moment(at, end, ns);
}

const char *scan_string(const char *at, const char *end, struct scan_text *text)
{
    text->text = at;
    at = skip_plain(at, end);
    while (at < end && *at != '"' && *at != '\\' && (unsigned char)*at >= 0x20)
        at++;
    text->length = (size_t)(at - text->text);
    return at < end && *at == '"' ? at : NULL;
}

static const char *scan_datatype_word(const char *at, const char *end, enum datatype *datatype)
{
    const char *first = at;
    while (at < end && ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || is_digit(*at)))
        at++;
    *datatype = datatype_from_text(first - 4, (size_t)(at - first) + 4);
    return at;
}

static const char *skip_digits(const char *at, const char *end)
{
    for (unsigned digits = 8; digits == 8 && end - at >= 8; at += digits)
        digits = eight_digits(eight_bytes(at));
    while (at < end && digit_of(*at) <= 9)
        at++;
    return at;
}

const char *scan_decimal(const char *at, const char *end)
{
    const char *first = at;
    at = if_good(first, skip_digits(at, end), SCAN_MOMENT_DIGITS);
    if (!at || at == end || *at != '.')
        return at;
    first = ++at;
    at = skip_digits(at, end);
    return at > first ? at : NULL;
}

static const char *scan_string_value(const char *at, const char *end, enum scan_type type, void *into)
{
    struct scan_text text;
    at = scan_string(at, end, &text);
    if (!at)
        return NULL;
    if (type == SCAN_SKIP_TEXT)
        return at;
    if (type == SCAN_FUNCTION)
        *(enum function *)into = function_from_text(text.text, text.length);
    else if (type == SCAN_DATATYPE)
        *(enum datatype *)into = datatype_from_text(text.text, text.length);
    else if (type == SCAN_ALGORITHM)
        *(enum algorithm *)into = algorithm_from_text(text.text, text.length);
    else
        *(enum protocol *)into = protocol_from_text(text.text, text.length);
    return at;
}

const char *scan_rare_value(const char *at, const char *end, enum scan_type type, void *into)
{
    int64_t number = 0;
    switch (type) {
    case SCAN_UNSIGNED:
        return scan_any_unsigned(at, end, into);
    case SCAN_HEXADECIMAL:
        return scan_hexadecimal(at, end, into);
    case SCAN_ADDRESS:
        return scan_address(at, end, into);
    case SCAN_MOMENT:
        return scan_moment_of_any_form(at, end, into);
    case SCAN_DATATYPE_WORD:
        return scan_datatype_word(at, end, into);
    case SCAN_DATATYPE_NUMBER:
        at = scan_not_below(at, end, 0, &number);
        *(enum datatype *)into = datatype_from_nccl(number);
        return at;
    case SCAN_FLAG:
        *(int *)into = at < end && *at == '1';
        return at < end && (*at == '0' || *at == '1') ? at + 1 : NULL;
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

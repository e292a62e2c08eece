#ifndef NCCLPROF_FORMAT_SCAN_H
#define NCCLPROF_FORMAT_SCAN_H

#include "input/number.h"
#include "model/event.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Reads text that looks exactly as expected: fixed words with values between them, described by lists of
 * struct scan_field. Anything unexpected, valid JSON or not, is refused, and left to who reads any JSON
 * (lib/input's json.h). What is accepted means the same to both.
 */

enum scan_type {
    SCAN_NOTHING = 0,     /* the fixed words alone */
    SCAN_INTEGER,         /* int64_t */
    SCAN_NATURAL,         /* int64_t, not below 0 */
    SCAN_NATURAL_OR_NONE, /* the same, or -1 */
    SCAN_UNSIGNED,        /* uint64_t */
    SCAN_HEXADECIMAL,     /* uint64_t, digits without 0x */
    SCAN_ADDRESS,         /* uint64_t as printf's %p has it: "0x55d0", or "(nil)" for 0 */
    SCAN_MOMENT,          /* int64_t ns from microseconds, mostly "123.456789"; TIME_UNKNOWN when 0 */
    SCAN_MICROSECONDS,    /* int64_t ns from whole microseconds; TIME_UNKNOWN when 0 */
    SCAN_TEXT,            /* struct scan_text, up to the closing quote; without escapes */
    SCAN_FUNCTION,        /* enum function, likewise */
    SCAN_DATATYPE,        /* enum datatype, likewise */
    SCAN_DATATYPE_WORD,   /* ... up to a comma: "nccl" has been read, the rest of the word follows */
    SCAN_DATATYPE_NUMBER, /* enum datatype from ncclDataType_t */
    SCAN_ALGORITHM,
    SCAN_PROTOCOL,
    SCAN_FLAG,         /* int, 0 or 1 */
    SCAN_SKIP_TEXT,    /* a text that nobody wants, up to the closing quote; without escapes */
    SCAN_SKIP_INTEGER, /* an integer that nobody wants */
    SCAN_SKIP_UNSIGNED,
    SCAN_SKIP_DECIMAL /* "12.5" that nobody wants */
};

/* Fixed words and the value behind them, which goes to an offset in the struct being filled. */
struct scan_field {
    const char *words;
    size_t length; /* of the words */
    enum scan_type type;
    size_t offset;
};

#define SCAN_WORDS(text) text, sizeof(text) - 1

/* A piece of the text; not followed by a NUL. */
struct scan_text {
    const char *text;
    size_t length;
};

/* The eight bytes at a place, the first one lowest. */
static inline uint64_t scan_eight_bytes(const char *at)
{
    uint64_t bytes;
    memcpy(&bytes, at, sizeof bytes);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bytes = __builtin_bswap64(bytes);
#endif
    return bytes;
}

/* How many digits there are at the front of eight bytes: adding lifts what is above 9 to the top bit. */
static inline unsigned scan_digits_of_eight(uint64_t bytes)
{
    const uint64_t low = 0x7f7f7f7f7f7f7f7fU;
    bytes ^= 0x3030303030303030U;
    bytes = (((bytes & low) + 0x7676767676767676U) | bytes) & ~low;
    return bytes ? (unsigned)__builtin_ctzll(bytes) / 8 : 8;
}

/* The number that the first `digits`, 1 to 8, of eight bytes spell: each step joins neighbours. */
static inline uint64_t scan_number_of_eight(uint64_t bytes, unsigned digits)
{
    bytes <<= 64 - 8 * digits;
    bytes = (bytes & 0x0f0f0f0f0f0f0f0fU) * 2561 >> 8;
    bytes = (bytes & 0x00ff00ff00ff00ffU) * 6553601 >> 16;
    return (bytes & 0x0000ffff0000ffffU) * 42949672960001U >> 32;
}

/* One value; NULL when there is none. */
const char *scan_any_integer(const char *at, const char *end, int64_t *value);

/* The same, quicker for what they mostly are: a few digits. */
static inline const char *scan_integer(const char *at, const char *end, int64_t *value)
{
    if (end - at < 8)
        return scan_any_integer(at, end, value);
    uint64_t bytes = scan_eight_bytes(at);
    unsigned digits = scan_digits_of_eight(bytes);
    if (digits == 0 || digits == 8 || (*at == '0' && digits > 1))
        return scan_any_integer(at, end, value);
    *value = (int64_t)scan_number_of_eight(bytes, digits);
    return at + digits;
}

static inline const char *scan_not_below(const char *at, const char *end, int64_t least, int64_t *value)
{
    at = scan_integer(at, end, value);
    return at && *value >= least ? at : NULL;
}

/* Whole microseconds of our days have so many digits. */
enum { SCAN_EPOCH_DIGITS = 16 };

/* Whether there are exactly so many here. */
static inline int scan_has_epoch_digits(const char *at, const char *end)
{
    return end - at > SCAN_EPOCH_DIGITS && scan_digits_of_eight(scan_eight_bytes(at)) == 8 &&
           scan_digits_of_eight(scan_eight_bytes(at + 8)) == 8 && *at != '0' &&
           (unsigned char)(at[SCAN_EPOCH_DIGITS] - '0') > 9;
}

const char *scan_any_microseconds(const char *at, const char *end, int64_t *ns);

static inline const char *scan_microseconds(const char *at, const char *end, int64_t *ns)
{
    if (!scan_has_epoch_digits(at, end))
        return scan_any_microseconds(at, end, ns);
    uint64_t whole = scan_number_of_eight(scan_eight_bytes(at), 8) * 100000000 +
                     scan_number_of_eight(scan_eight_bytes(at + 8), 8);
    if (whole > NUMBER_MOST_NS / 1000)
        return NULL;
    *ns = (int64_t)whole * 1000;
    return at + SCAN_EPOCH_DIGITS;
}

const char *scan_any_unsigned(const char *at, const char *end, uint64_t *value);

static inline const char *scan_skip_unsigned(const char *at, const char *end)
{
    uint64_t ignored;
    return scan_has_epoch_digits(at, end) ? at + SCAN_EPOCH_DIGITS : scan_any_unsigned(at, end, &ignored);
}

/* Of the microseconds of a moment, before the point: more would not fit as nanoseconds. */
enum { SCAN_MOMENT_DIGITS = 15 };

/*
 * "%f" microseconds have six digits behind the point. Point, digits and the byte behind them, which every
 * line has, are taken at once; picoseconds are rounded to nanoseconds.
 */
static inline const char *scan_fraction(const char *at, const char *end, uint64_t whole, int64_t *ns)
{
    if (end - at < 8 || *at != '.')
        return NULL;
    uint64_t bytes = scan_eight_bytes(at) >> 8;
    if (scan_digits_of_eight(bytes) != 6 || at[7] == 'e' || at[7] == 'E')
        return NULL;
    *ns = (int64_t)(whole * 1000 + (scan_number_of_eight(bytes, 6) + 500) / 1000);
    if (*ns == 0)
        *ns = TIME_UNKNOWN;
    return at + 7;
}

static inline const char *scan_moment(const char *at, const char *end, int64_t *ns)
{
    if (end - at < 8)
        return NULL;
    uint64_t bytes = scan_eight_bytes(at);
    unsigned digits = scan_digits_of_eight(bytes);
    if (digits == 0 || (*at == '0' && digits > 1))
        return NULL;
    uint64_t whole = scan_number_of_eight(bytes, digits);
    const char *limit = at + SCAN_MOMENT_DIGITS < end ? at + SCAN_MOMENT_DIGITS : end;
    at += digits;
    for (; digits == 8 && at < limit && *at >= '0' && *at <= '9'; at++)
        whole = whole * 10 + (uint64_t)(*at - '0');
    return scan_fraction(at, end, whole, ns);
}

/* The same of any number of microseconds that is not below 0. */
const char *scan_any_moment(const char *at, const char *end, int64_t *ns);

static inline uint64_t scan_difference(const char *at, const char *words, size_t offset)
{
    uint64_t left;
    uint64_t right;
    memcpy(&left, at + offset, sizeof left);
    memcpy(&right, words + offset, sizeof right);
    return left ^ right;
}

/* The same for 8 to 64 bytes, eight at a time, from both ends to the middle, where they may overlap. */
static inline uint64_t scan_differences(const char *at, const char *words, size_t length)
{
    uint64_t all = scan_difference(at, words, 0) | scan_difference(at, words, length - 8);
    if (length <= 16)
        return all;
    all |= scan_difference(at, words, 8) | scan_difference(at, words, length - 16);
    if (length <= 32)
        return all;
    all |= scan_difference(at, words, 16) | scan_difference(at, words, length - 24);
    return all | scan_difference(at, words, 24) | scan_difference(at, words, length - 32);
}

/* True when the next bytes are these, which the caller knows to be no more than there are. */
static inline int scan_same(const char *at, const char *words, size_t length)
{
    if (length > 64)
        /* NOLINTNEXTLINE(clang-analyzer-core.*): where there are that many bytes, they are somewhere */
        return memcmp(at, words, length) == 0;
    if (length >= 8)
        return scan_differences(at, words, length) == 0;
    for (size_t i = 0; i < length; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.*): as above */
        if (at[i] != words[i])
            return 0;
    return 1;
}

static inline const char *scan_words(const char *at, const char *end, const char *words, size_t length)
{
    return (size_t)(end - at) >= length && scan_same(at, words, length) ? at + length : NULL;
}

/* One value; NULL when there is none. */
const char *scan_value(const char *at, const char *end, enum scan_type type, void *into);

/* The same, at the place of the call what is frequent. */
static inline __attribute__((always_inline)) const char *scan_frequent_value(const char *at, const char *end,
                                                                             enum scan_type type, void *into)
{
    int64_t ignored;
    switch (type) {
    case SCAN_NOTHING:
        return at;
    case SCAN_INTEGER:
        return scan_integer(at, end, into);
    case SCAN_NATURAL:
        return scan_not_below(at, end, 0, into);
    case SCAN_NATURAL_OR_NONE:
        return scan_not_below(at, end, -1, into);
    case SCAN_SKIP_INTEGER:
        return scan_integer(at, end, &ignored);
    case SCAN_MICROSECONDS:
        return scan_microseconds(at, end, into);
    case SCAN_SKIP_UNSIGNED:
        return scan_skip_unsigned(at, end);
    default:
        return scan_value(at, end, type, into);
    }
}

/*
 * Reads `count` fields from [at, end) into `*into`. Returns where it stopped, or NULL when the text is not as
 * expected; `*into` then holds anything.
 */
const char *scan_fields(const char *at, const char *end, const struct scan_field *fields, size_t count,
                        void *into);

/* The same for a table that the compiler sees: it lays the fields out one after the other. */
static inline __attribute__((always_inline)) const char *scan_table(const char *at, const char *end,
                                                                    const struct scan_field *fields,
                                                                    size_t count, void *into)
{
#pragma GCC unroll 16
    for (size_t i = 0; i < count; i++) {
        at = scan_words(at, end, fields[i].words, fields[i].length);
        if (!at)
            return NULL;
        at = scan_frequent_value(at, end, fields[i].type, (char *)into + fields[i].offset);
        if (!at)
            return NULL;
    }
    return at;
}

#endif

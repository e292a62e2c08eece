#ifndef NCCLPROF_FORMAT_SCAN_H
#define NCCLPROF_FORMAT_SCAN_H

#include "model/vocab.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Reads text that looks exactly as expected: fixed words with values between them, described by tables of
 * struct scan_field. Anything unexpected, valid JSON or not, is refused, and somebody more patient
 * (lib/input's json.h) reads it instead. What is accepted means the same to both.
 */

enum scan_type {
    SCAN_NOTHING = 0,     /* the fixed words alone */
    SCAN_INTEGER,         /* int64_t */
    SCAN_UNSIGNED,        /* uint64_t */
    SCAN_HEXADECIMAL,     /* uint64_t, digits without 0x */
    SCAN_MOMENT,          /* int64_t ns from "123.456789" microseconds; TIME_UNKNOWN when not above 0 */
    SCAN_MICROSECONDS,    /* int64_t ns from whole microseconds; TIME_UNKNOWN when 0 */
    SCAN_TEXT,            /* struct scan_text, up to the closing quote; without escapes */
    SCAN_FUNCTION,        /* enum function, likewise */
    SCAN_DATATYPE,        /* enum datatype, likewise */
    SCAN_DATATYPE_WORD,   /* ... up to a comma: "nccl" has been read, the rest of the word follows */
    SCAN_DATATYPE_NUMBER, /* enum datatype from ncclDataType_t */
    SCAN_ALGORITHM,
    SCAN_PROTOCOL,
    SCAN_SKIP_INTEGER, /* an integer that nobody wants */
    SCAN_SKIP_UNSIGNED,
    SCAN_SKIP_HEXADECIMAL,
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

/*
 * Reads `count` fields from [at, end) into `*into`. Returns where it stopped, or NULL when the text is not as
 * expected; `*into` then holds anything.
 */
const char *scan_fields(const char *at, const char *end, const struct scan_field *fields, size_t count,
                        void *into);

/* One value; NULL when there is none. */
const char *scan_integer(const char *at, const char *end, int64_t *value);
const char *scan_moment(const char *at, const char *end, int64_t *ns);

/* From here on a call of memcmp() is worth it. */
enum { SCAN_LONG = 24 };

/* True when the next bytes are these, which the caller knows to be no more than there are. */
static inline int scan_same(const char *at, const char *words, size_t length)
{
    uint64_t left;
    uint64_t right;
    if (length >= SCAN_LONG)
        return memcmp(at, words, length) == 0;
    if (length < sizeof left) {
        for (size_t i = 0; i < length; i++)
            if (at[i] != words[i])
                return 0;
        return 1;
    }
    for (size_t i = 0; i + sizeof left <= length; i += sizeof left) {
        memcpy(&left, at + i, sizeof left);
        memcpy(&right, words + i, sizeof right);
        if (left != right)
            return 0;
    }
    memcpy(&left, at + length - sizeof left, sizeof left);
    memcpy(&right, words + length - sizeof right, sizeof right);
    return left == right;
}

static inline const char *scan_words(const char *at, const char *end, const char *words, size_t length)
{
    return (size_t)(end - at) >= length && scan_same(at, words, length) ? at + length : NULL;
}

#endif

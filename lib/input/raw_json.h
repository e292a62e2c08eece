#ifndef NCCLPROF_INPUT_RAW_JSON_H
#define NCCLPROF_INPUT_RAW_JSON_H

#include "base/buffer.h"

#include <stddef.h>
#include <string.h>

/*
 * JSON read where it lies: nothing is copied, and only what is asked for is looked at. What json.h would make
 * of a value is the same for all that it takes; some of what it refuses is passed over here (words that mean
 * nothing, brackets closed by braces) where nobody asks for it.
 */

/* Values nested deeper are refused. */
enum { RAW_JSON_DEPTH = 512 };

/* How far a value has been followed, whose text may come in pieces. Zero before its first byte. */
struct raw_json_scan {
    int depth;      /* of braces and brackets that are open */
    char in;        /* '"': inside a string; 'w': inside a number or a word; '\0' */
    int is_escaped; /* the next byte of the string is taken as it is */
    int is_broken;  /* it is no value: a line ends within a string, or it is nested too deep */
};

/*
 * Where a value ends, which begins at `text`, or goes on there. NULL: not in this piece, which is all taken
 * in, or the value is broken. A number or word ends with what follows it, or with the input.
 */
const char *raw_json_end(struct raw_json_scan *scan, const char *text, const char *end);

const char *raw_json_skip_space(const char *text, const char *end);

/* Text borrowed from what is read. Of a value: strings with their quotes. Of a key: without. */
struct raw_json {
    const char *text;
    size_t length;
};

/* A way through the values of an object or an array. */
struct raw_json_cursor {
    const char *at;
    const char *end;
    char closing; /* '}' or ']'; '\0': it is neither */
    int is_begun;
};

void raw_json_enter(struct raw_json_cursor *cursor, struct raw_json container);

/* The next value, with its key in an object. 1, 0 when there is none left, -1 where the text is no JSON. */
int raw_json_next(struct raw_json_cursor *cursor, struct raw_json *key, struct raw_json *value);

/* Whether it is this text, which has no escapes. Of a literal the compiler knows the length. */
static inline int raw_json_is(struct raw_json text, const char *expected)
{
    size_t length = strlen(expected);
    return text.length == length && (length == 0 || memcmp(text.text, expected, length) == 0);
}

/* What stands between a string's quotes, escapes as they are. -1: it is no string. */
int raw_json_string(struct raw_json value, struct raw_json *content);

/* Adds it to the buffer with its escapes resolved; one that is none stays as it is. -1: out of memory. */
int raw_json_unescape(struct raw_json content, struct buffer *buffer);

#endif

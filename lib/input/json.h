#ifndef NCCLPROF_INPUT_JSON_H
#define NCCLPROF_INPUT_JSON_H

#include "base/buffer.h"
#include "base/error.h"
#include "input/value.h"

#include <stddef.h>
#include <stdint.h>

/*
 * A small JSON text as a tree of values (input/value.h). What is long is pulled apart by input/tokens.h
 * first.
 *
 * What is JSON here is what cJSON takes, to which the tests hold it: any byte up to a space stands for one
 * between the parts of a text, strings may hold line breaks and bytes that are no UTF-8. Numbers are those of
 * JSON, and exact: cJSON keeps doubles, which 64-bit hashes and clocks do not survive. What needs more than
 * to be taken as it stands, strings with escapes and fractions, is given to cJSON, to which this is the only
 * door.
 *
 * Keys are matched with case. Of keys that come twice in an object the first counts. Strings end at their
 * first NUL, and `misread` is set then. Values nested deeper than JSON_DEPTH_MOST are refused.
 */
enum { JSON_DEPTH_MOST = 1000 };

struct json {
    struct value root;    /* it and what is below it: borrowed, until the next parse */
    struct values values; /* where that lives */
    struct value *open;   /* while it is parsed: what its list or dictionary has not taken up yet; owned */
    size_t open_count;
    size_t open_capacity;
    struct buffer mended; /* for users: a text that they made JSON of */
    int misread; /* something in it could not be taken as it stands: a string with a NUL inside, and whatever
                    else its user finds */
    int has_nan; /* json_parse_lenient() met nan or inf, as C prints a double that is no number */
    int has_misfit; /* a number that none of the functions below can read: they answer as if it were missing
                     */
};

enum json_status { JSON_OK = 0, JSON_INVALID = -1, JSON_NO_MEMORY = -2 };

void json_init(struct json *json);
void json_release(struct json *json);

/*
 * Parses `text`, which has to be one JSON value with nothing but white space around it. What was parsed
 * before into `json` is gone. Numbers are VALUE_DECIMAL and borrowed from `text`. Texts have a NUL behind
 * them.
 */
enum json_status json_parse(struct json *json, const char *text, size_t length);

/*
 * The same for text that is almost JSON: words that stand where a value should are taken for strings, as in
 * `"datatype": ncclFloat32`, `"Stream": 0x55d0`, `"Stream": (nil)` or `"ts": nan`. To be tried when
 * json_parse() has refused.
 */
enum json_status json_parse_lenient(struct json *json, const char *text, size_t length);

/*
 * A JSON text as values that borrow nothing of it: integers that fit are VALUE_INTEGER, other numbers
 * VALUE_NUMBER. `offset` is that of the text in the file. They are nested no deeper than VALUE_DEPTH_MOST.
 * Returns 0; 1 when it is no JSON, nested too deep or too much (*root is null); -1 when memory is out.
 */
int json_to_values(struct values *values, const char *text, size_t length, uint64_t offset,
                   struct value *root, struct error *error);

/* The value under a key; NULL when there is none, or when `object` is NULL or no object. */
const struct value *json_member(const struct value *object, const char *key);

/* Whether it is the boolean true. */
int json_is_true(const struct value *value);

/* A text; NULL when the value is NULL or something else. */
const char *json_text(const struct value *value);

/* Exact values of decimals; -1 and `*into` as it was when there is none or it does not fit. */
int json_int64(const struct value *value, int64_t *into);
int json_uint64(const struct value *value, uint64_t *into);

/* A number of microseconds, in nanoseconds (number.h). */
int json_microseconds_ns(const struct value *value, int64_t *ns);

#endif

#ifndef NCCLPROF_INPUT_JSON_H
#define NCCLPROF_INPUT_JSON_H

#include "base/buffer.h"

#include <stddef.h>
#include <stdint.h>

/*
 * One JSON value, parsed by cJSON: the only door to it. cJSON keeps numbers as doubles, which 64-bit hashes
 * and clocks do not survive; so it gets to see the ordinal of each number instead of the number, and the
 * accessors below read the text under that ordinal.
 *
 * Keys are matched with case. Of keys that come twice in an object the first counts. Strings end at their
 * first NUL, and `misread` is set then. Values nested deeper than 1000 are refused.
 */
struct json_node; /* borrowed: lives until the next parse into the same struct json */

struct json {
    void *root;            /* owned by cJSON */
    struct buffer renamed; /* the text with ordinals for numbers */
    struct buffer mended;  /* what json_parse_lenient() made of it */
    struct json_number *numbers;
    size_t number_count;
    size_t number_capacity;
    int misread; /* something in it could not be taken as it stands: a string with a NUL inside, and whatever
                    else its user finds */
    int has_nan; /* json_parse_lenient() met nan or inf, as C prints a double that is no number */
};

enum json_kind { JSON_NULL, JSON_BOOLEAN, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

enum json_status { JSON_OK = 0, JSON_INVALID = -1, JSON_NO_MEMORY = -2 };

void json_init(struct json *json);
void json_release(struct json *json);

/*
 * Parses `text`, which has to be one JSON value with nothing but white space around it. What was parsed
 * before into `json` is gone. `text` is borrowed as long as the nodes are used.
 */
enum json_status json_parse(struct json *json, const char *text, size_t length);

/*
 * The same for text that is almost JSON: words that stand where a value should are taken for strings, as in
 * `"datatype": ncclFloat32`, `"Stream": 0x55d0`, `"Stream": (nil)` or `"ts": nan`. To be tried when
 * json_parse() has refused.
 */
enum json_status json_parse_lenient(struct json *json, const char *text, size_t length);

const struct json_node *json_root(const struct json *json);
enum json_kind json_kind(const struct json_node *node);

/* The value under a key; NULL when there is none, or when `object` is NULL or no object. */
const struct json_node *json_member(const struct json_node *object, const char *key);

/* The first value in an array or object, and the one after a value; NULL when there is none. */
const struct json_node *json_first(const struct json_node *node);
const struct json_node *json_next(const struct json_node *node);

/* A value's key in its object. */
const char *json_key(const struct json_node *node);

/* Whether it is the boolean true. */
int json_is_true(const struct json_node *node);

/* The text of a string; NULL when the node is NULL or something else. */
const char *json_text(const struct json_node *node);

/* A number's text. -1 when the node is NULL or no number. Not followed by a NUL. */
int json_number_text(const struct json *json, const struct json_node *node, const char **text,
                     size_t *length);

/* Exact values of numbers; -1 and `*value` as it was when there is none or it does not fit. */
int json_int64(const struct json *json, const struct json_node *node, int64_t *value);
int json_uint64(const struct json *json, const struct json_node *node, uint64_t *value);

/*
 * Whether all numbers of the value can be read by one of the functions around this one. Whoever asks for one
 * that cannot gets the same answer as where it is missing.
 */
int json_numbers_fit(const struct json *json);

/* A number of microseconds, in nanoseconds (number.h). */
int json_microseconds_ns(const struct json *json, const struct json_node *node, int64_t *ns);

#endif

#ifndef NCCLPROF_FORMAT_MEMBER_H
#define NCCLPROF_FORMAT_MEMBER_H

#include "input/json.h"

/*
 * What an object says under a key. What is absent or null is not known. Nor is what is there but of another
 * kind or beyond what can be kept; json->misread then tells that something was lost. `object` may be NULL.
 */

/* NULL when not known. Texts and nodes are borrowed from the struct json. */
const struct value *member_object(struct json *json, const struct value *object, const char *key);
const struct value *member_array(struct json *json, const struct value *object, const char *key);
const char *member_text(struct json *json, const struct value *object, const char *key);

int64_t member_integer(struct json *json, const struct value *object, const char *key, int64_t otherwise);

/* The same for a count: what is below 0 is beyond what can be. */
int64_t member_natural(struct json *json, const struct value *object, const char *key, int64_t otherwise);

/* The same where -1 says that there is none: COUNT_UNKNOWN, and where it is not known. */
int64_t member_natural_or_none(struct json *json, const struct value *object, const char *key);

/* 0 when not known. */
uint64_t member_unsigned(struct json *json, const struct value *object, const char *key);

/* The same for a text of hexadecimal digits. */
uint64_t member_hexadecimal(struct json *json, const struct value *object, const char *key);

/* A number of microseconds, not below 0, in nanoseconds; "nan" is not known. */
int64_t member_nanoseconds(struct json *json, const struct value *object, const char *key, int64_t otherwise);

/* Such a point in time; TIME_UNKNOWN also where it is 0 or -1, which is how "never" prints. */
int64_t member_moment(struct json *json, const struct value *object, const char *key);

#endif

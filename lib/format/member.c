#include "format/member.h"

#include "input/number.h"
#include "model/event.h"

#include <string.h>

/* -1 microsecond, which is how copy-engine operations print it. */
enum { NEVER_NS = -1000 };

static int is_there(const struct value *node)
{
    return node && node->kind != VALUE_NULL;
}

static const struct value *of_kind(struct json *json, const struct value *object, const char *key,
                                   enum value_kind kind)
{
    const struct value *node = json_member(object, key);
    if (!is_there(node))
        return NULL;
    if (node->kind == kind)
        return node;
    json->misread = 1;
    return NULL;
}

const struct value *member_object(struct json *json, const struct value *object, const char *key)
{
    return of_kind(json, object, key, VALUE_DICTIONARY);
}

const struct value *member_array(struct json *json, const struct value *object, const char *key)
{
    return of_kind(json, object, key, VALUE_LIST);
}

const char *member_text(struct json *json, const struct value *object, const char *key)
{
    return json_text(of_kind(json, object, key, VALUE_TEXT));
}

int64_t member_integer(struct json *json, const struct value *object, const char *key, int64_t otherwise)
{
    const struct value *node = json_member(object, key);
    json->misread |= is_there(node) && json_int64(node, &otherwise);
    return otherwise;
}

int64_t member_natural(struct json *json, const struct value *object, const char *key, int64_t otherwise)
{
    const struct value *node = json_member(object, key);
    int64_t value = 0;
    if (!is_there(node))
        return otherwise;
    if (!json_int64(node, &value) && value >= 0)
        return value;
    json->misread = 1;
    return otherwise;
}

int64_t member_natural_or_none(struct json *json, const struct value *object, const char *key)
{
    int64_t value = member_integer(json, object, key, COUNT_UNKNOWN);
    json->misread |= value < COUNT_UNKNOWN;
    return value < COUNT_UNKNOWN ? COUNT_UNKNOWN : value;
}

uint64_t member_unsigned(struct json *json, const struct value *object, const char *key)
{
    const struct value *node = json_member(object, key);
    uint64_t value = 0;
    json->misread |= is_there(node) && json_uint64(node, &value);
    return value;
}

uint64_t member_hexadecimal(struct json *json, const struct value *object, const char *key)
{
    const char *text = member_text(json, object, key);
    uint64_t value = 0;
    json->misread |= text && number_hexadecimal(text, strlen(text), &value);
    return value;
}

static int is_nan(const struct value *node)
{
    const char *text = json_text(node);
    return text && (strcmp(text, "nan") == 0 || strcmp(text, "-nan") == 0);
}

int64_t member_nanoseconds(struct json *json, const struct value *object, const char *key, int64_t otherwise)
{
    const struct value *node = json_member(object, key);
    int64_t ns = 0;
    if (!is_there(node) || is_nan(node))
        return otherwise;
    if (!json_microseconds_ns(node, &ns) && ns >= 0)
        return ns;
    json->misread = 1;
    return otherwise;
}

int64_t member_moment(struct json *json, const struct value *object, const char *key)
{
    const struct value *node = json_member(object, key);
    int64_t ns = 0;
    if (is_there(node) && !is_nan(node))
        json->misread |= json_microseconds_ns(node, &ns) || (ns < 0 && ns != NEVER_NS);
    return ns > 0 ? ns : TIME_UNKNOWN;
}

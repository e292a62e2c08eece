#include "format/member.h"

#include "input/number.h"
#include "model/event.h"

#include <string.h>

/* -1 microsecond, which is how copy-engine operations print it. */
enum { NEVER_NS = -1000 };

static int is_there(const struct json_node *node)
{
    return node && json_kind(node) != JSON_NULL;
}

static const struct json_node *of_kind(struct json *json, const struct json_node *object, const char *key,
                                       enum json_kind kind)
{
    const struct json_node *node = json_member(object, key);
    if (!is_there(node))
        return NULL;
    if (json_kind(node) == kind)
        return node;
    json->misread = 1;
    return NULL;
}

const struct json_node *member_object(struct json *json, const struct json_node *object, const char *key)
{
    return of_kind(json, object, key, JSON_OBJECT);
}

const struct json_node *member_array(struct json *json, const struct json_node *object, const char *key)
{
    return of_kind(json, object, key, JSON_ARRAY);
}

const char *member_text(struct json *json, const struct json_node *object, const char *key)
{
    return json_text(of_kind(json, object, key, JSON_STRING));
}

int64_t member_integer(struct json *json, const struct json_node *object, const char *key, int64_t otherwise)
{
    const struct json_node *node = json_member(object, key);
    json->misread |= is_there(node) && json_int64(json, node, &otherwise);
    return otherwise;
}

int64_t member_natural(struct json *json, const struct json_node *object, const char *key, int64_t otherwise)
{
    const struct json_node *node = json_member(object, key);
    int64_t value = 0;
    if (!is_there(node))
        return otherwise;
    if (!json_int64(json, node, &value) && value >= 0)
        return value;
    json->misread = 1;
    return otherwise;
}

int64_t member_natural_or_none(struct json *json, const struct json_node *object, const char *key)
{
    int64_t value = member_integer(json, object, key, COUNT_UNKNOWN);
    json->misread |= value < COUNT_UNKNOWN;
    return value < COUNT_UNKNOWN ? COUNT_UNKNOWN : value;
}

uint64_t member_unsigned(struct json *json, const struct json_node *object, const char *key)
{
    const struct json_node *node = json_member(object, key);
    uint64_t value = 0;
    json->misread |= is_there(node) && json_uint64(json, node, &value);
    return value;
}

uint64_t member_hexadecimal(struct json *json, const struct json_node *object, const char *key)
{
    const char *text = member_text(json, object, key);
    uint64_t value = 0;
    json->misread |= text && number_hexadecimal(text, strlen(text), &value);
    return value;
}

static int is_nan(const struct json_node *node)
{
    const char *text = json_text(node);
    return text && (strcmp(text, "nan") == 0 || strcmp(text, "-nan") == 0);
}

int64_t member_nanoseconds(struct json *json, const struct json_node *object, const char *key,
                           int64_t otherwise)
{
    const struct json_node *node = json_member(object, key);
    int64_t ns = 0;
    if (!is_there(node) || is_nan(node))
        return otherwise;
    if (!json_microseconds_ns(json, node, &ns) && ns >= 0)
        return ns;
    json->misread = 1;
    return otherwise;
}

int64_t member_moment(struct json *json, const struct json_node *object, const char *key)
{
    const struct json_node *node = json_member(object, key);
    int64_t ns = 0;
    if (is_there(node) && !is_nan(node))
        json->misread |= json_microseconds_ns(json, node, &ns) || (ns < 0 && ns != NEVER_NS);
    return ns > 0 ? ns : TIME_UNKNOWN;
}

#include "input/value_json.h"

#include "input/json.h"

#include <stdlib.h>
#include <string.h>

/* A text as it is decoded, kept in the arena. */
static enum values_status take_text(struct values *values, const char *text, struct value *value)
{
    size_t length = strlen(text);
    char *copy = values_take(values, length + 1);
    if (!copy)
        return values_why_none(values, length + 1);
    memcpy(copy, text, length + 1);
    *value = (struct value){.kind = VALUE_TEXT, .length = (uint32_t)length, .text = copy};
    return VALUES_OK;
}

static void take_number(const struct json *json, const struct json_node *node, struct value *value)
{
    const char *text;
    size_t length;
    *value = (struct value){.kind = VALUE_INTEGER};
    if (json_int64(json, node, &value->integer) == 0)
        return;
    value->kind = VALUE_NULL;
    if (json_number_text(json, node, &text, &length))
        return;
    char digits[64];
    if (length >= sizeof digits)
        return;
    memcpy(digits, text, length);
    digits[length] = '\0';
    *value = (struct value){.kind = VALUE_NUMBER, .number = strtod(digits, NULL)};
}

static enum values_status take_node(struct values *values, const struct json *json,
                                    const struct json_node *node, int depth, uint64_t offset,
                                    struct value *value);

static enum values_status take_items(struct values *values, const struct json *json,
                                     const struct json_node *node, int depth, uint64_t offset,
                                     struct value *value)
{
    int is_object = json_kind(node) == JSON_OBJECT;
    enum values_status status =
        values_container(values, is_object ? VALUE_DICTIONARY : VALUE_LIST, offset, value);
    for (node = json_first(node); node && status == VALUES_OK; node = json_next(node)) {
        struct value pair[2];
        if (is_object)
            status = take_text(values, json_key(node), &pair[0]);
        if (status == VALUES_OK)
            status = take_node(values, json, node, depth + 1, offset, &pair[1]);
        if (status == VALUES_OK)
            status = values_add(values, value->items, is_object ? pair : pair + 1, is_object ? 2 : 1);
    }
    return status;
}

static enum values_status take_node(struct values *values, const struct json *json,
                                    const struct json_node *node, int depth, uint64_t offset,
                                    struct value *value)
{
    if (depth > VALUE_DEPTH_MOST)
        return VALUES_TOO_DEEP;
    switch (json_kind(node)) {
    case JSON_NULL:
        *value = (struct value){.kind = VALUE_NULL};
        return VALUES_OK;
    case JSON_BOOLEAN:
        *value = (struct value){.kind = VALUE_BOOLEAN, .integer = json_is_true(node)};
        return VALUES_OK;
    case JSON_NUMBER:
        take_number(json, node, value);
        return VALUES_OK;
    case JSON_STRING:
        return take_text(values, json_text(node), value);
    default:
        return take_items(values, json, node, depth, offset, value);
    }
}

int value_from_json(struct values *values, const char *text, size_t length, uint64_t offset,
                    struct value *root, struct error *error)
{
    struct json json;
    json_init(&json);
    *root = (struct value){.kind = VALUE_NULL};
    enum json_status parsed = json_parse(&json, text, length);
    enum values_status status = VALUES_OK;
    if (parsed == JSON_OK)
        status = take_node(values, &json, json_root(&json), 1, offset, root);
    json_release(&json);
    if (parsed == JSON_NO_MEMORY || status == VALUES_NO_MEMORY)
        return error_no_memory(error);
    if (parsed == JSON_OK && status == VALUES_OK)
        return 0;
    *root = (struct value){.kind = VALUE_NULL};
    return 1;
}

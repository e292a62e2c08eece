/*
 * Parses small JSON texts into trees of values. raw_json (walk.c) finds the structure; cJSON converts only
 * strings with escapes and fractions.
 */
#include "input/json.h"
#include "base/base.h"
#include "input/input.h"

#include <cjson/cJSON.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A text that is being parsed. */
struct reading {
    struct json *json;
    struct values *values;
    const char *at;
    const char *end;
    uint64_t offset; /* added to the offsets of the values */
    int level_most;  /* maximum depth; the outermost value has depth 1 */
    int is_lenient;
    int borrows; /* numbers are kept as text */
};

/* cJSON only reports that it failed. Running out of memory must not look like invalid JSON. */
static _Thread_local int memory_ran_out;

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes);
    memory_ran_out |= !memory;
    return memory;
}

static void install_hooks(void)
{
    cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = allocate, .free_fn = free});
}

void json_init(struct json *json)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install_hooks);
    *json = (struct json){.mended = BUFFER_INIT};
    values_init(&json->values, SIZE_MAX);
    json->values.depth_most = JSON_DEPTH_MOST;
}

void json_release(struct json *json)
{
    values_release(&json->values);
    free(json->open);
    buffer_release(&json->mended);
    json_init(json);
}

static enum json_status failure(enum values_status status)
{
    return status == VALUES_NO_MEMORY ? JSON_NO_MEMORY : JSON_INVALID;
}

static enum json_status push(struct json *json, struct value value)
{
    if (array_reserve((void **)&json->open, &json->open_capacity, json->open_count + 1, sizeof *json->open))
        return JSON_NO_MEMORY;
    json->open[json->open_count++] = value;
    return JSON_OK;
}

/* Pushes a text up to its first NUL. */
static enum json_status push_text(struct reading *reading, const char *text, size_t most)
{
    size_t length = strnlen(text, most);
    char *copy = values_take(reading->values, length + 1);
    if (!copy)
        return failure(values_why_none(reading->values, length + 1));
    memcpy(copy, text, length);
    copy[length] = '\0';
    return push(reading->json, (struct value){.kind = VALUE_TEXT, .length = (uint32_t)length, .text = copy});
}

/* Lets cJSON parse a string or number; NULL if it fails. */
static cJSON *parse_scalar(const char *text, size_t length)
{
    memory_ran_out = 0;
    return cJSON_ParseWithLength(text, length);
}

static enum json_status push_unescaped(struct reading *reading, const char *quoted, size_t length)
{
    cJSON *string = parse_scalar(quoted, length);
    if (!string)
        return memory_ran_out ? JSON_NO_MEMORY : JSON_INVALID;
    enum json_status status = push_text(reading, string->valuestring, length);
    cJSON_Delete(string);
    return status;
}

static enum json_status read_string(struct reading *reading)
{
    const char *quoted = reading->at, *at = quoted + 1, *end = reading->end;
    int has_escape = 0, has_nul = 0;
    for (; at < end && *at != '"'; at++) {
        has_nul |= *at == '\0';
        if (*at != '\\')
            continue;
        has_escape = 1;
        has_nul |= end - at > 6 && memcmp(at, "\\u0000", 6) == 0;
        if (++at == end)
            return JSON_INVALID;
        has_nul |= *at == '\0';
    }
    if (at >= end)
        return JSON_INVALID;
    reading->at = at + 1;
    reading->json->misread |= has_nul;
    return has_escape ? push_unescaped(reading, quoted, (size_t)(at + 1 - quoted))
                      : push_text(reading, quoted + 1, (size_t)(at - quoted - 1));
}

static int is_word_byte(char byte)
{
    return is_digit(byte) || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '+' ||
           byte == '-' || byte == '.' || byte == '_';
}

static size_t word_length(const struct reading *reading)
{
    const char *at = reading->at;
    while (at < reading->end && is_word_byte(*at))
        at++;
    return (size_t)(at - reading->at);
}

/* Pushes a number as a double; as null if it is longer than any double needs to be. */
static enum json_status push_number(struct reading *reading, struct raw_json number)
{
    enum { DOUBLE_BYTES = 64 };
    struct value value = {.kind = VALUE_INTEGER};
    if (number_int64(number.text, number.length, &value.integer) == 0)
        return push(reading->json, value);
    if (number.length >= DOUBLE_BYTES)
        return push(reading->json, (struct value){.kind = VALUE_NULL});
    cJSON *parsed = parse_scalar(number.text, number.length);
    if (!parsed)
        return JSON_NO_MEMORY;
    value = (struct value){.kind = VALUE_NUMBER, .number = parsed->valuedouble};
    cJSON_Delete(parsed);
    return push(reading->json, value);
}

static enum json_status push_decimal(struct reading *reading, struct raw_json number)
{
    reading->json->has_misfit |= !number_fits(number.text, number.length);
    return push(
        reading->json,
        (struct value){.kind = VALUE_DECIMAL, .length = (uint32_t)number.length, .text = number.text});
}

/* Pushes a word that is neither a number nor a literal. */
static enum json_status push_strange(struct reading *reading, struct raw_json word)
{
    size_t sign = word.text[0] == '-' || word.text[0] == '+';
    const char *unsigned_text = word.text + sign;
    if (!reading->is_lenient)
        return JSON_INVALID;
    reading->json->has_nan |= word.length - sign == 3 && (strncasecmp(unsigned_text, "nan", 3) == 0 ||
                                                          strncasecmp(unsigned_text, "inf", 3) == 0);
    return push_text(reading, word.text, word.length);
}

static enum json_status read_word(struct reading *reading, size_t length)
{
    struct raw_json word = {reading->at, length};
    reading->at += length;
    if (number_is_json(word.text, word.length))
        return reading->borrows ? push_decimal(reading, word) : push_number(reading, word);
    if (raw_json_is(word, "null"))
        return push(reading->json, (struct value){.kind = VALUE_NULL});
    if (raw_json_is(word, "true") || raw_json_is(word, "false"))
        return push(reading->json, (struct value){.kind = VALUE_BOOLEAN, .integer = word.text[0] == 't'});
    return push_strange(reading, word);
}

/* Reads "(null)" or "(nil)", which printf writes for a NULL string or pointer. */
static enum json_status read_null(struct reading *reading)
{
    static const char *const words[] = {"(nil)", "(null)"};
    for (size_t i = 0; reading->is_lenient && i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i]);
        if ((size_t)(reading->end - reading->at) < length || memcmp(reading->at, words[i], length) != 0)
            continue;
        reading->at += length;
        return push_text(reading, words[i], length);
    }
    return JSON_INVALID;
}

static void skip_space(struct reading *reading)
{
    for (; reading->at < reading->end && (unsigned char)*reading->at <= ' '; reading->at++)
        reading->json->misread |= *reading->at == '\0';
}

static int take_sign(struct reading *reading, char sign)
{
    int is_there = reading->at < reading->end && *reading->at == sign;
    reading->at += is_there;
    return is_there;
}

static enum json_status read_value(struct reading *reading, int level);

static enum json_status read_member(struct reading *reading, int level)
{
    size_t before = reading->json->open_count;
    enum json_status status = read_value(reading, level);
    if (status != JSON_OK)
        return status;
    skip_space(reading);
    if (reading->json->open[before].kind != VALUE_TEXT || !take_sign(reading, ':'))
        return JSON_INVALID;
    skip_space(reading);
    return read_value(reading, level);
}

/* Moves the values pushed since `first` into a list or dictionary. */
static enum json_status close_container(struct reading *reading, enum value_kind kind, size_t first)
{
    struct json *json = reading->json;
    struct value container;
    enum values_status status = values_container(reading->values, kind, reading->offset, &container);
    if (status == VALUES_OK && json->open_count > first)
        status = values_add(reading->values, container.items, json->open + first, json->open_count - first);
    json->open_count = first;
    return status == VALUES_OK ? push(json, container) : failure(status);
}

static enum json_status read_container(struct reading *reading, int level)
{
    int is_object = *reading->at == '{';
    char closing = (char)(is_object ? '}' : ']');
    enum value_kind kind = is_object ? VALUE_DICTIONARY : VALUE_LIST;
    size_t first = reading->json->open_count;
    reading->at++;
    skip_space(reading);
    if (take_sign(reading, closing))
        return close_container(reading, kind, first);
    do {
        skip_space(reading);
        enum json_status status =
            is_object ? read_member(reading, level + 1) : read_value(reading, level + 1);
        if (status != JSON_OK)
            return status;
        skip_space(reading);
    } while (take_sign(reading, ','));
    return take_sign(reading, closing) ? close_container(reading, kind, first) : JSON_INVALID;
}

static enum json_status read_value(struct reading *reading, int level)
{
    if (reading->at == reading->end || level > reading->level_most)
        return JSON_INVALID;
    if (*reading->at == '"')
        return read_string(reading);
    if (*reading->at == '{' || *reading->at == '[')
        return read_container(reading, level);
    size_t length = word_length(reading);
    return length > 0 ? read_word(reading, length) : read_null(reading);
}

/* Reads the whole text, which may begin with a byte order mark. */
static enum json_status read_text(struct reading *reading, struct value *root)
{
    struct json *json = reading->json;
    json->open_count = 0;
    json->misread = json->has_nan = json->has_misfit = 0;
    *root = (struct value){.kind = VALUE_NULL};
    if (reading->end - reading->at > 4 && memcmp(reading->at, "\xef\xbb\xbf", 3) == 0)
        reading->at += 3;
    skip_space(reading);
    enum json_status status = read_value(reading, 1);
    if (status == JSON_OK && raw_json_skip_space(reading->at, reading->end) != reading->end)
        status = JSON_INVALID;
    if (status == JSON_OK)
        *root = json->open[0];
    return status;
}

static enum json_status parse(struct json *json, const char *text, size_t length, int is_lenient)
{
    struct reading reading = {.json = json,
                              .values = &json->values,
                              .at = text,
                              .end = text + length,
                              .level_most = JSON_DEPTH_MOST + 1,
                              .is_lenient = is_lenient,
                              .borrows = 1};
    values_clear(&json->values);
    return read_text(&reading, &json->root);
}

enum json_status json_parse(struct json *json, const char *text, size_t length)
{
    return parse(json, text, length, 0);
}

enum json_status json_parse_lenient(struct json *json, const char *text, size_t length)
{
    return parse(json, text, length, 1);
}

int json_to_values(struct values *values, const char *text, size_t length, uint64_t offset,
                   struct value *root, struct error *error)
{
    struct json json;
    struct reading reading = {.json = &json,
                              .values = values,
                              .at = text,
                              .end = text + length,
                              .offset = offset,
                              .level_most = VALUE_DEPTH_MOST};
    json_init(&json);
    enum json_status status = read_text(&reading, root);
    json_release(&json);
    if (status == JSON_NO_MEMORY)
        return error_no_memory(error);
    return status == JSON_OK ? 0 : 1;
}

const struct value *json_member(const struct value *object, const char *key)
{
    if (!value_is_of(object, VALUE_DICTIONARY))
        return NULL;
    const struct value *at = object->items->items;
    for (size_t left = object->items->count; left > 1; left -= 2, at += 2)
        if (strcmp(at->text, key) == 0)
            return at + 1;
    return NULL;
}

int json_is_true(const struct value *value)
{
    return value_is_of(value, VALUE_BOOLEAN) && value->integer;
}

const char *json_text(const struct value *value)
{
    return value_is_of(value, VALUE_TEXT) ? value->text : NULL;
}

int json_int64(const struct value *value, int64_t *into)
{
    return value_is_of(value, VALUE_DECIMAL) ? number_int64(value->text, value->length, into) : -1;
}

int json_uint64(const struct value *value, uint64_t *into)
{
    return value_is_of(value, VALUE_DECIMAL) ? number_uint64(value->text, value->length, into) : -1;
}

int json_microseconds_ns(const struct value *value, int64_t *ns)
{
    return value_is_of(value, VALUE_DECIMAL) ? number_microseconds_ns(value->text, value->length, ns) : -1;
}

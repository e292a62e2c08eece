#include "input/json.h"

#include "base/array.h"
#include "input/number.h"

#include <cjson/cJSON.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct json_number {
    const char *text;
    size_t length;
};

/* cJSON says no more than that it failed. Lack of memory must not look like text that is no JSON. */
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
    *json = (struct json){.root = NULL, .renamed = BUFFER_INIT, .mended = BUFFER_INIT};
}

void json_release(struct json *json)
{
    cJSON_Delete(json->root);
    buffer_release(&json->renamed);
    buffer_release(&json->mended);
    free(json->numbers);
    json_init(json);
}

/* The length of the string that begins with the quote at text[0], both quotes included; the rest of the text
 * when it does not end. */
static size_t string_length(const char *text, size_t length)
{
    size_t at = 1;
    while (at < length && text[at] != '"')
        at += text[at] == '\\' ? 2 : 1;
    return at < length ? at + 1 : length;
}

/* Whether a string, or what is left of one, has a NUL in it, as it is or as an escape. */
static int has_nul(const char *text, size_t length)
{
    const char *end = text + length;
    if (memchr(text, '\0', length))
        return 1;
    while (end - text > 6 && (text = memchr(text, '\\', (size_t)(end - text - 6)))) {
        if (memcmp(text, "\\u0000", 6) == 0)
            return 1;
        text += 2;
    }
    return 0;
}

static int is_word_byte(char byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           byte == '+' || byte == '-' || byte == '.' || byte == '_';
}

static size_t word_length(const char *text, size_t length)
{
    size_t at = 0;
    while (at < length && is_word_byte(text[at]))
        at++;
    return at;
}

/* Writes the ordinal of a number in its place and remembers its text. */
static enum json_status rename_number(struct json *json, const char *text, size_t length)
{
    char ordinal[24];
    if (array_reserve((void **)&json->numbers, &json->number_capacity, json->number_count + 1,
                      sizeof *json->numbers))
        return JSON_NO_MEMORY;
    int digits = snprintf(ordinal, sizeof ordinal, "%zu", json->number_count);
    json->numbers[json->number_count++] = (struct json_number){text, length};
    return buffer_append(&json->renamed, ordinal, (size_t)digits) ? JSON_NO_MEMORY : JSON_OK;
}

static int is_literal(const char *text, size_t length)
{
    return (length == 4 && (!memcmp(text, "true", 4) || !memcmp(text, "null", 4))) ||
           (length == 5 && !memcmp(text, "false", 5));
}

static enum json_status rename_word(struct json *json, const char *text, size_t length)
{
    if (number_is_json(text, length))
        return rename_number(json, text, length);
    if (!is_literal(text, length))
        return JSON_INVALID;
    return buffer_append(&json->renamed, text, length) ? JSON_NO_MEMORY : JSON_OK;
}

/* Copies the text with each number replaced by its ordinal. */
static enum json_status rename_numbers(struct json *json, const char *text, size_t length)
{
    enum json_status status = JSON_OK;
    buffer_clear(&json->renamed);
    json->number_count = 0;
    for (size_t at = 0; at < length && status == JSON_OK;) {
        size_t part = word_length(text + at, length - at);
        if (part > 0) {
            status = rename_word(json, text + at, part);
        } else {
            part = text[at] == '"' ? string_length(text + at, length - at) : 1;
            json->misread |= has_nul(text + at, part);
            status = buffer_append(&json->renamed, text + at, part) ? JSON_NO_MEMORY : JSON_OK;
        }
        at += part;
    }
    return status;
}

/* White space of JSON, and nothing else, up to the end. */
static int is_blank(const char *text, const char *end)
{
    while (text < end && (*text == ' ' || *text == '\t' || *text == '\r' || *text == '\n'))
        text++;
    return text == end;
}

enum json_status json_parse(struct json *json, const char *text, size_t length)
{
    const char *end = NULL;
    cJSON_Delete(json->root);
    json->root = NULL;
    json->has_nan = 0;
    json->misread = 0;
    enum json_status status = rename_numbers(json, text, length);
    if (status != JSON_OK || json->renamed.length == 0)
        return status == JSON_OK ? JSON_INVALID : status;
    memory_ran_out = 0;
    json->root = cJSON_ParseWithLengthOpts(json->renamed.data, json->renamed.length, &end, 0);
    if (json->root && is_blank(end, json->renamed.data + json->renamed.length))
        return JSON_OK;
    cJSON_Delete(json->root);
    json->root = NULL;
    return memory_ran_out ? JSON_NO_MEMORY : JSON_INVALID;
}

static int is_nan(const char *text, size_t length)
{
    size_t sign = length > 0 && (*text == '-' || *text == '+');
    return length - sign == 3 && (!strncasecmp(text + sign, "nan", 3) || !strncasecmp(text + sign, "inf", 3));
}

/* What printf makes of a pointer or a string that is NULL: "(nil)", "(null)". 0: none of those. */
static size_t null_length(const char *text, size_t length)
{
    static const char *const words[] = {"(nil)", "(null)"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (length >= strlen(words[i]) && !memcmp(text, words[i], strlen(words[i])))
            return strlen(words[i]);
    return 0;
}

/* The length of a value that only lacks its quotes; 0 for all else. */
static size_t strange_length(const char *text, size_t length)
{
    size_t part = word_length(text, length);
    if (part == 0)
        return null_length(text, length);
    return number_is_json(text, part) || is_literal(text, part) ? 0 : part;
}

/* The length of what is copied as it is: a word, a string, or one byte of anything else. */
static size_t plain_length(const char *text, size_t length)
{
    size_t part = word_length(text, length);
    if (part > 0)
        return part;
    return *text == '"' ? string_length(text, length) : 1;
}

/* Copies the text with quotes around words that are neither numbers nor literals. */
static enum json_status quote_words(struct json *json, const char *text, size_t length, int *has_nan)
{
    int failed = 0;
    *has_nan = 0;
    buffer_clear(&json->mended);
    for (size_t at = 0; at < length && !failed;) {
        size_t part = strange_length(text + at, length - at);
        int strange = part > 0;
        if (!strange)
            part = plain_length(text + at, length - at);
        *has_nan |= strange && is_nan(text + at, part);
        failed |= strange && buffer_append_byte(&json->mended, '"');
        failed |= buffer_append(&json->mended, text + at, part);
        failed |= strange && buffer_append_byte(&json->mended, '"');
        at += part;
    }
    return failed ? JSON_NO_MEMORY : JSON_OK;
}

enum json_status json_parse_lenient(struct json *json, const char *text, size_t length)
{
    int has_nan;
    enum json_status status = quote_words(json, text, length, &has_nan);
    if (status == JSON_OK)
        status = json_parse(json, json->mended.data, json->mended.length);
    json->has_nan = has_nan;
    return status;
}

const struct json_node *json_root(const struct json *json)
{
    return json->root;
}

static const cJSON *item(const struct json_node *node)
{
    return (const cJSON *)(const void *)node;
}

static const struct json_node *node(const cJSON *of)
{
    return (const struct json_node *)(const void *)of;
}

enum json_kind json_kind(const struct json_node *of)
{
    if (cJSON_IsNumber(item(of)))
        return JSON_NUMBER;
    if (cJSON_IsString(item(of)))
        return JSON_STRING;
    if (cJSON_IsObject(item(of)))
        return JSON_OBJECT;
    if (cJSON_IsArray(item(of)))
        return JSON_ARRAY;
    return cJSON_IsBool(item(of)) ? JSON_BOOLEAN : JSON_NULL;
}

const struct json_node *json_member(const struct json_node *object, const char *key)
{
    if (!cJSON_IsObject(item(object)))
        return NULL;
    return node(cJSON_GetObjectItemCaseSensitive(item(object), key));
}

const struct json_node *json_first(const struct json_node *of)
{
    return of ? node(item(of)->child) : NULL;
}

const struct json_node *json_next(const struct json_node *of)
{
    return of ? node(item(of)->next) : NULL;
}

const char *json_key(const struct json_node *of)
{
    return item(of)->string;
}

int json_is_true(const struct json_node *node)
{
    return node && cJSON_IsTrue(item(node));
}

const char *json_text(const struct json_node *of)
{
    return cJSON_GetStringValue(item(of));
}

int json_number_text(const struct json *json, const struct json_node *of, const char **text, size_t *length)
{
    if (!cJSON_IsNumber(item(of)))
        return -1;
    const struct json_number *number = &json->numbers[(size_t)item(of)->valuedouble];
    *text = number->text;
    *length = number->length;
    return 0;
}

int json_int64(const struct json *json, const struct json_node *of, int64_t *value)
{
    const char *text;
    size_t length;
    return json_number_text(json, of, &text, &length) ? -1 : number_int64(text, length, value);
}

int json_uint64(const struct json *json, const struct json_node *of, uint64_t *value)
{
    const char *text;
    size_t length;
    return json_number_text(json, of, &text, &length) ? -1 : number_uint64(text, length, value);
}

int json_numbers_fit(const struct json *json)
{
    for (size_t i = 0; i < json->number_count; i++)
        if (!number_fits(json->numbers[i].text, json->numbers[i].length))
            return 0;
    return 1;
}

int json_microseconds_ns(const struct json *json, const struct json_node *of, int64_t *ns)
{
    const char *text;
    size_t length;
    return json_number_text(json, of, &text, &length) ? -1 : number_microseconds_ns(text, length, ns);
}

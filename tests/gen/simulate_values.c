#include "simulate_values.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MEMO_SLOTS 8192 /* a power of two */

/* A text or map that was written before, and its number. -1: a text, not a shared map. */
struct memo {
    char *name;
    int number;
    int id;
};

struct values {
    struct output *output;
    bool json;
    bool needs_comma;
    struct memo memos[MEMO_SLOTS];
    int next_id;
};

struct values *values_new(struct output *output, bool json)
{
    struct values *values = allocate(1, sizeof(*values));
    values->output = output;
    values->json = json;
    if (!json)
        output_bytes(output, "\x80\x02", 2);
    return values;
}

static void put_byte(struct values *values, char byte)
{
    output_bytes(values->output, &byte, 1);
}

static void put_little_endian(struct values *values, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        put_byte(values, (char)(value >> 8 * i));
}

static void put_memo(struct values *values, char short_code, char long_code, int id)
{
    put_byte(values, id < 256 ? short_code : long_code);
    put_little_endian(values, (uint64_t)id, id < 256 ? 1 : 4);
}

static struct memo *find(struct values *values, const char *name, int number)
{
    unsigned hash = 2166136261u ^ (unsigned)number;
    for (const char *at = name; *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619u;
    for (unsigned i = 0; i < MEMO_SLOTS; i++) {
        struct memo *memo = &values->memos[(hash + i) % MEMO_SLOTS];
        if (memo->name == NULL || (memo->number == number && strcmp(memo->name, name) == 0))
            return memo;
    }
    fail("more than %d different texts in a dump", MEMO_SLOTS);
}

static void remember(struct values *values, const char *name, int number)
{
    struct memo *memo = find(values, name, number);
    memo->name = strdup(name);
    if (memo->name == NULL)
        fail("out of memory");
    memo->number = number;
    memo->id = values->next_id++;
    put_memo(values, 'q', 'r', memo->id);
}

void values_end(struct values *values)
{
    if (!values->json) {
        put_memo(values, 'q', 'r', values->next_id);
        put_byte(values, '.');
    }
    for (int i = 0; i < MEMO_SLOTS; i++)
        free(values->memos[i].name);
    free(values);
}

static void begin_value(struct values *values)
{
    if (values->json && values->needs_comma)
        put_byte(values, ',');
    values->needs_comma = true;
}

static void begin(struct values *values, char opening, char code)
{
    begin_value(values);
    values->needs_comma = false;
    if (values->json) {
        put_byte(values, opening);
        return;
    }
    put_byte(values, code);
    put_byte(values, '(');
}

static void end(struct values *values, char closing, char code)
{
    put_byte(values, values->json ? closing : code);
    values->needs_comma = true;
}

void values_begin_map(struct values *values)
{
    begin(values, '{', '}');
}

void values_end_map(struct values *values)
{
    end(values, '}', 'u');
}

void values_begin_list(struct values *values)
{
    begin(values, '[', ']');
}

void values_end_list(struct values *values)
{
    end(values, ']', 'e');
}

void values_key(struct values *values, const char *key)
{
    values_text(values, key);
    if (values->json)
        put_byte(values, ':');
    values->needs_comma = false;
}

void values_text(struct values *values, const char *text)
{
    begin_value(values);
    if (values->json) {
        output_print(values->output, "\"%s\"", text);
        return;
    }
    struct memo *memo = find(values, text, -1);
    if (memo->name != NULL) {
        put_memo(values, 'h', 'j', memo->id);
        return;
    }
    put_byte(values, 'X');
    put_little_endian(values, strlen(text), 4);
    output_bytes(values->output, text, strlen(text));
    remember(values, text, -1);
}

void values_integer(struct values *values, int64_t value)
{
    begin_value(values);
    if (values->json) {
        output_print(values->output, "%" PRId64, value);
        return;
    }
    bool is_byte = value >= 0 && value <= UINT8_MAX, is_short = value >= 0 && value <= UINT16_MAX;
    if (!is_short && (value < INT32_MIN || value > INT32_MAX)) {
        output_bytes(values->output, "\x8a\x08", 2);
        put_little_endian(values, (uint64_t)value, 8);
        return;
    }
    put_byte(values, is_byte ? 'K' : is_short ? 'M' : 'J');
    put_little_endian(values, (uint64_t)value, is_byte ? 1 : is_short ? 2 : 4);
}

void values_real(struct values *values, double value)
{
    uint64_t bits;
    begin_value(values);
    if (values->json) {
        output_print(values->output, "%.17g", value);
        return;
    }
    memcpy(&bits, &value, sizeof(bits));
    put_byte(values, 'G');
    for (int i = 7; i >= 0; i--)
        put_byte(values, (char)(bits >> 8 * i));
}

void values_boolean(struct values *values, bool value)
{
    begin_value(values);
    if (values->json)
        output_print(values->output, value ? "true" : "false");
    else
        put_byte(values, value ? '\x88' : '\x89');
}

void values_unknown_time(struct values *values)
{
    if (values->json)
        values_integer(values, 0);
    else
        put_byte(values, 'N');
}

void values_pair(struct values *values, const char *first, const char *second)
{
    if (values->json)
        values_begin_list(values);
    values_text(values, first);
    values_text(values, second);
    if (values->json)
        values_end_list(values);
    else
        put_byte(values, '\x85' + 1);
}

void values_ranks(struct values *values, const int *ranks, int count)
{
    size_t size = (size_t)count * 12 + 3, used = 1;
    char *text = allocate(size, 1);
    text[0] = '[';
    for (int i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%d", i > 0 ? ", " : "", ranks[i]);
    snprintf(text + used, size - used, "]");
    values_text(values, text);
    free(text);
}

bool values_repeat(struct values *values, const char *name, int number)
{
    const struct memo *memo = find(values, name, number);
    if (values->json || memo->name == NULL)
        return false;
    put_memo(values, 'h', 'j', memo->id);
    return true;
}

void values_end_shared_map(struct values *values, const char *name, int number)
{
    values_end_map(values);
    if (!values->json)
        remember(values, name, number);
}

#include "format/flight_recorder/json.h"

#include "format/flight_recorder/dump.h"
#include "input/json.h"
#include "input/tokens.h"
#include "input/unpickle.h"

#include <string.h>

/* What stands where, by the numbers of the paths below. */
enum { PATH_ENTRY, PATH_MEMBER, PATH_ITEM };

static const char *const paths[] = {"entries[]", "*", "[]", NULL};

struct reading {
    struct values *values;
    const struct format_sink *sink;
    struct value list;       /* the entries */
    struct value dictionary; /* all else */
    int has_entries;
    int has_items; /* they are all there is: the list of torch 2.2 */
};

static int out_of(enum values_status status, struct error *error)
{
    return status == VALUES_NO_MEMORY ? error_no_memory(error) : error_set(error, "too many values");
}

static int begin(struct reading *reading, struct error *error)
{
    enum values_status status = values_container(reading->values, VALUE_LIST, 0, &reading->list);
    if (status == VALUES_OK)
        status = values_container(reading->values, VALUE_DICTIONARY, 0, &reading->dictionary);
    return status == VALUES_OK ? 0 : out_of(status, error);
}

static int note(const struct reading *reading, const char *reason, const struct tokens_value *token,
                struct error *error)
{
    return reading->sink->note(reading->sink->context, reason, 1, token->offset, token->value.text,
                               token->value.length, error);
}

/* What there is no room for is passed over. */
static int no_room(const struct reading *reading, const struct tokens_value *token, enum values_status status,
                   struct error *error)
{
    return status == VALUES_NO_MEMORY ? error_no_memory(error)
                                      : note(reading, "too many values", token, error);
}

static int add(struct reading *reading, const struct tokens_value *token, const struct value *value,
               struct error *error)
{
    enum values_status status;
    if (token->path == PATH_MEMBER) {
        struct value pair[2] = {{.kind = VALUE_TEXT, .length = (uint32_t)token->key.length}, *value};
        char *key = values_take(reading->values, token->key.length + 1);
        if (!key)
            return no_room(reading, token, values_why_none(reading->values, token->key.length + 1), error);
        memcpy(key, token->key.text, token->key.length);
        pair[0].text = key;
        status = values_add(reading->values, reading->dictionary.items, pair, 2);
    } else {
        reading->has_entries |= token->path == PATH_ENTRY;
        reading->has_items |= token->path == PATH_ITEM;
        status = values_add(reading->values, reading->list.items, value, 1);
    }
    return status == VALUES_OK ? 0 : no_room(reading, token, status, error);
}

static int take(struct reading *reading, const struct tokens_value *token, struct error *error)
{
    struct value value;
    int status =
        json_to_values(reading->values, token->value.text, token->value.length, token->offset, &value, error);
    if (status < 0)
        return -1;
    return status > 0 ? note(reading, "unreadable text", token, error) : add(reading, token, &value, error);
}

static int take_token(struct reading *reading, const struct tokens_value *token, struct error *error)
{
    switch (token->kind) {
    case TOKENS_VALUE:
        return take(reading, token, error);
    case TOKENS_CUT:
        reading->list.items->is_cut = 1;
        return note(reading, "unreadable rest of the dump", token, error);
    case TOKENS_DAMAGE:
        return note(reading, "unreadable text", token, error);
    default:
        return note(reading, "value too long", token, error);
    }
}

/* The tree as one: the entries among all else. */
static int finish(struct reading *reading, struct value *root, struct error *error)
{
    struct value pair[2] = {{.kind = VALUE_TEXT, .length = sizeof "entries" - 1, .text = "entries"},
                            reading->list};
    enum values_status status = VALUES_OK;
    /* What has been read is kept where there is room for no more. */
    reading->values->bytes_most += 1 << 16;
    *root = reading->has_items ? reading->list : reading->dictionary;
    if (!reading->has_items && reading->has_entries)
        status = values_add(reading->values, reading->dictionary.items, pair, 2);
    return status == VALUES_OK ? 0 : out_of(status, error);
}

int dump_read_json(struct input *input, struct values *values, struct value *root, size_t *bytes,
                   const struct format_sink *sink, struct error *error)
{
    struct reading reading = {.values = values, .sink = sink};
    struct tokens tokens;
    struct tokens_value token = {.kind = TOKENS_VALUE};
    size_t least = values->bytes_most;
    int failed = begin(&reading, error), ended_early = 0;
    tokens_init(&tokens, input, paths);
    while (!failed && token.kind != TOKENS_END) {
        ended_early = tokens_next(&tokens, &token, error);
        if (ended_early)
            break;
        *bytes = (size_t)token.offset + token.value.length;
        values->bytes_most = least + *bytes * UNPICKLE_BYTES_A_BYTE;
        if (values->bytes_most > DUMP_VALUES_BYTES_MOST)
            values->bytes_most = DUMP_VALUES_BYTES_MOST;
        if (token.kind != TOKENS_END)
            failed = take_token(&reading, &token, error);
    }
    failed = failed || finish(&reading, root, ended_early ? NULL : error);
    return failed || ended_early ? -1 : 0;
}

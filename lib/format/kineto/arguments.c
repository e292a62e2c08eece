/*
 * Reads the arguments of an event of a Kineto trace. Most events have the same ones as the event before them,
 * printed with the same words between their values, so these words are remembered and compared.
 */
#include "base/base.h"
#include "format/internal.h"
#include "format/kineto/kineto.h"
#include "input/input.h"
#include "model/model.h"

#include <stddef.h>
#include <string.h>

int64_t kineto_integer(struct raw_json value, int64_t otherwise)
{
    int64_t number = otherwise;
    struct raw_json content;
    if (raw_json_string(value, &content) == 0)
        value = content;
    return number_int64(value.text, value.length, &number) ? otherwise : number;
}

void kineto_text(struct raw_json value, struct raw_json *text)
{
    if (raw_json_string(value, text))
        *text = (struct raw_json){NULL, 0};
}

enum argument_type { OF_INTEGER, OF_TEXT, OF_LIST, OF_GRAPH };

/* A key that is read, and the member of struct kineto_arguments that receives its value. */
struct kineto_key {
    const char *name;
    size_t length;
    enum argument_type type;
    size_t at;
};

#define KEY(name, type, member)                                                 \
    {                                                                           \
        name, sizeof(name) - 1, type, offsetof(struct kineto_arguments, member) \
    }

static const struct kineto_key keys[] = {
    KEY("External id", OF_INTEGER, external_id),
    KEY("correlation", OF_INTEGER, correlation),
    KEY("stream", OF_INTEGER, stream),
    KEY("device", OF_INTEGER, device),
    KEY("In msg nelems", OF_INTEGER, in_elements),
    KEY("Out msg nelems", OF_INTEGER, out_elements),
    KEY("Group size", OF_INTEGER, group_size),
    KEY("Rank", OF_INTEGER, rank),
    KEY("Src Rank", OF_INTEGER, sender),
    KEY("Dst Rank", OF_INTEGER, receiver),
    KEY("Seq", OF_INTEGER, sequence),
    KEY("Global rank start", OF_INTEGER, first_rank),
    KEY("Global rank stride", OF_INTEGER, stride),
    KEY("external id", OF_INTEGER, external_id),
    KEY("Collective name", OF_TEXT, collective),
    KEY("dtype", OF_TEXT, datatype),
    KEY("Process Group Name", OF_TEXT, group),
    KEY("Process Group Description", OF_TEXT, description),
    KEY("Process Group Ranks", OF_TEXT, ranks),
    KEY("Input Dims", OF_LIST, shapes),
    KEY("graph node id", OF_GRAPH, has_graph),
    KEY("graph id", OF_GRAPH, has_graph),
};

enum { KEYS = sizeof keys / sizeof *keys };

/* NULL: the key is not read. */
static const struct kineto_key *find_key(struct raw_json name)
{
    for (const struct kineto_key *key = keys; key < keys + KEYS; key++)
        if (name.length == key->length && memcmp(name.text, key->name, key->length) == 0)
            return key;
    return NULL;
}

static int64_t *integer_at(struct kineto_arguments *arguments, size_t at)
{
    return (int64_t *)(void *)((char *)arguments + at);
}

static struct raw_json *text_at(struct kineto_arguments *arguments, size_t at)
{
    return (struct raw_json *)(void *)((char *)arguments + at);
}

static void store(const struct kineto_key *key, struct raw_json value, struct kineto_arguments *arguments)
{
    switch (key->type) {
    case OF_INTEGER:
        *integer_at(arguments, key->at) = kineto_integer(value, COUNT_UNKNOWN);
        break;
    case OF_TEXT:
        kineto_text(value, text_at(arguments, key->at));
        break;
    case OF_LIST:
        *text_at(arguments, key->at) = value;
        break;
    case OF_GRAPH:
        arguments->has_graph = kineto_integer(value, 0) != 0;
        break;
    }
}

static void begin(struct kineto_arguments *arguments)
{
    *arguments = (struct kineto_arguments){.collective = {NULL, 0}};
    for (const struct kineto_key *key = keys; key < keys + KEYS; key++)
        if (key->type == OF_INTEGER)
            *integer_at(arguments, key->at) = COUNT_UNKNOWN;
}

/* Adds the words from `at` to `past`, after which a value for `key` follows. A layout that is full is empty.
 */
static void add_words(struct kineto_layout *layout, const char *at, const char *past,
                      const struct kineto_key *key)
{
    size_t length = (size_t)(past - at);
    if (layout->count == KINETO_LAYOUT_FIELDS || length > KINETO_LAYOUT_BYTES) {
        layout->is_unfit = 1;
        return;
    }
    struct kineto_field *field = &layout->fields[layout->count++];
    field->length = length;
    field->key = key;
    memcpy(field->words, at, length);
}

/* Reads any arguments. `layout` may be NULL; else it receives how they are printed. */
static int read_and_learn(struct raw_json text, struct kineto_layout *layout,
                          struct kineto_arguments *arguments, const char **past)
{
    struct raw_json_cursor cursor;
    struct raw_json name, value;
    const char *at = text.text;
    int more;
    if (layout)
        layout->count = layout->is_unfit = 0;
    raw_json_enter(&cursor, text);
    while ((more = raw_json_next(&cursor, &name, &value)) == 1) {
        const struct kineto_key *key = find_key(name);
        if (key)
            store(key, value, arguments);
        if (layout)
            add_words(layout, at, value.text, key);
        at = value.text + value.length;
    }
    *past = cursor.at + 1;
    if (layout && more == 0)
        add_words(layout, at, *past, NULL);
    if (layout && (more != 0 || layout->is_unfit))
        layout->count = 0;
    return more;
}

/* Reads a whole number of up to seven digits. NULL: another value. */
static inline const char *read_small(const char *at, const char *end, int64_t *number)
{
    if (end - at < 8)
        return NULL;
    uint64_t bytes = eight_bytes(at);
    unsigned digits = eight_digits(bytes);
    if (digits == 0 || digits == 8 || (at[digits] != ',' && at[digits] != '\n'))
        return NULL;
    *number = (int64_t)eight_number(bytes, digits);
    return at + digits;
}

/* Reads arguments that are printed as the layout says. Returns 0 if they are not. */
static int read_alike(struct raw_json text, const struct kineto_layout *layout,
                      struct kineto_arguments *arguments, const char **past)
{
    const char *at = text.text, *end = text.text + text.length;
    const struct kineto_field *field = layout->fields, *last = field + layout->count - 1;
    for (;; field++) {
        int64_t number = 0;
        if (!(at = scan_words(at, end, field->words, field->length)))
            return 0;
        if (field == last)
            break;
        const char *begin = at;
        if ((at = read_small(begin, end, &number))) {
            if (field->key && field->key->type == OF_INTEGER)
                *integer_at(arguments, field->key->at) = number;
            else if (field->key)
                store(field->key, (struct raw_json){begin, (size_t)(at - begin)}, arguments);
            continue;
        }
        if (!(at = raw_json_value_end(begin, end)))
            return 0;
        if (field->key)
            store(field->key, (struct raw_json){begin, (size_t)(at - begin)}, arguments);
    }
    *past = at;
    return 1;
}

int kineto_arguments_read(struct raw_json text, struct kineto_layout layouts[KINETO_LAYOUTS],
                          struct kineto_arguments *arguments, const char **past)
{
    begin(arguments);
    *past = text.text + text.length;
    if (!text.length)
        return 0;
    /* What was stored by a layout that does not fit is a part of the text, and is stored again. */
    for (size_t i = 0; layouts && i < KINETO_LAYOUTS && layouts[i].count; i++)
        if (read_alike(text, &layouts[i], arguments, past))
            return 0;
    if (layouts)
        memmove(&layouts[1], &layouts[0], (KINETO_LAYOUTS - 1) * sizeof *layouts);
    return read_and_learn(text, layouts, arguments, past);
}

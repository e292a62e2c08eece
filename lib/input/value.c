/*
 * The arena of values, and access to them. unpickle.c and json.c build the trees; readers of formats walk
 * them.
 */
#include "input/input.h"
#include "input/json.h"

#include <stdlib.h>
#include <string.h>

/* The usual size of a chunk. A single larger piece gets a larger chunk. */
enum { CHUNK_BYTES = 64 * 1024 };

struct values_chunk {
    struct values_chunk *next;
    size_t used;
    size_t size;
    max_align_t bytes[];
};

void values_init(struct values *values, size_t bytes_most)
{
    *values = (struct values){.bytes_most = bytes_most, .depth_most = VALUE_DEPTH_MOST};
}

void values_release(struct values *values)
{
    while (values->chunks) {
        struct values_chunk *chunk = values->chunks;
        values->chunks = chunk->next;
        free(chunk);
    }
    values->bytes = 0;
}

void values_clear(struct values *values)
{
    struct values_chunk *kept = values->chunks;
    if (!kept || kept->size != CHUNK_BYTES) {
        values_release(values);
        return;
    }
    values->chunks = kept->next;
    values_release(values);
    kept->next = NULL;
    kept->used = 0;
    values->chunks = kept;
    values->bytes = kept->size;
}

static struct values_chunk *new_chunk(struct values *values, size_t bytes)
{
    size_t size = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
    if (size > values->bytes_most - values->bytes)
        size = bytes;
    struct values_chunk *chunk = size > SIZE_MAX - sizeof *chunk ? NULL : malloc(sizeof *chunk + size);
    if (!chunk)
        return NULL;
    *chunk = (struct values_chunk){.next = values->chunks, .size = size};
    values->chunks = chunk;
    values->bytes += size;
    return chunk;
}

static size_t aligned(size_t bytes)
{
    return (bytes + sizeof(struct value) - 1) & ~(sizeof(struct value) - 1);
}

void *values_take(struct values *values, size_t bytes)
{
    struct values_chunk *chunk = values->chunks;
    if (bytes > SIZE_MAX / 2)
        return NULL;
    bytes = aligned(bytes);
    if (!chunk || bytes > chunk->size - chunk->used) {
        if (bytes > values->bytes_most - values->bytes)
            return NULL;
        chunk = new_chunk(values, bytes);
    }
    if (!chunk)
        return NULL;
    void *taken = (char *)chunk->bytes + chunk->used;
    chunk->used += bytes;
    return taken;
}

enum values_status values_why_none(const struct values *values, size_t bytes)
{
    return bytes > values->bytes_most - values->bytes ? VALUES_TOO_MANY : VALUES_NO_MEMORY;
}

enum values_status values_container(struct values *values, enum value_kind kind, uint64_t offset,
                                    struct value *value)
{
    struct value_items *items = values_take(values, sizeof *items);
    if (!items)
        return values_why_none(values, sizeof *items);
    *items = (struct value_items){.depth = 1, .offset = offset};
    *value = (struct value){.kind = kind, .items = items};
    return VALUES_OK;
}

static enum values_status make_room(struct values *values, struct value_items *into, size_t count)
{
    size_t wanted = into->count + count;
    if (wanted <= into->capacity)
        return VALUES_OK;
    /* A container filled by one call, as nearly all are, gets no spare capacity. */
    size_t capacity = into->count ? wanted + wanted / 2 : wanted;
    struct value *items = values_take(values, capacity * sizeof *items);
    if (!items)
        return values_why_none(values, capacity * sizeof *items);
    if (into->count)
        memcpy(items, into->items, into->count * sizeof *items);
    into->items = items;
    into->capacity = capacity;
    return VALUES_OK;
}

/* Closes the containers among the added values, and sets *depth to their greatest depth. */
static enum values_status close_added(const struct values *values, const struct value_items *into,
                                      const struct value *added, size_t count, uint32_t *depth)
{
    for (size_t i = 0; i < count; i++) {
        if (added[i].kind != VALUE_LIST && added[i].kind != VALUE_DICTIONARY)
            continue;
        if (added[i].items == into)
            return VALUES_CYCLE;
        added[i].items->is_closed = 1;
        if (added[i].items->depth >= *depth)
            *depth = added[i].items->depth + 1;
    }
    return *depth > values->depth_most ? VALUES_TOO_DEEP : VALUES_OK;
}

enum values_status values_add(struct values *values, struct value_items *into, const struct value *added,
                              size_t count)
{
    uint32_t depth = into->depth;
    if (into->is_closed)
        return VALUES_CYCLE;
    enum values_status status = close_added(values, into, added, count, &depth);
    if (status == VALUES_OK)
        status = make_room(values, into, count);
    if (status != VALUES_OK || count == 0)
        return status;
    memcpy(into->items + into->count, added, count * sizeof *added);
    into->count += count;
    into->depth = depth;
    return VALUES_OK;
}

int value_is(const struct value *value, const char *text)
{
    return value && value->kind == VALUE_TEXT && strlen(text) == value->length &&
           memcmp(value->text, text, value->length) == 0;
}

/*
 * A dictionary that represents a record has few members. A larger one could be referred to, and searched,
 * many times.
 */
enum { MEMBERS_MOST = 1024 };

const struct value *value_member(const struct value *dictionary, const char *key)
{
    if (!dictionary || dictionary->kind != VALUE_DICTIONARY)
        return NULL;
    const struct value_items *items = dictionary->items;
    if (items->count / 2 > MEMBERS_MOST)
        return NULL;
    for (size_t i = items->count & ~(size_t)1; i > 0; i -= 2)
        if (value_is(&items->items[i - 2], key))
            return &items->items[i - 1];
    return NULL;
}

const struct value_items *value_list(const struct value *value)
{
    return value && value->kind == VALUE_LIST ? value->items : NULL;
}

const struct value *value_begin(const struct value *value)
{
    int has_items = value_is_of(value, VALUE_LIST) || value_is_of(value, VALUE_DICTIONARY);
    return has_items ? value->items->items : NULL;
}

const struct value *value_end(const struct value *value)
{
    const struct value *begin = value_begin(value);
    return begin ? begin + value->items->count : NULL;
}

int value_int64(const struct value *value, int64_t *into)
{
    if (value && value->kind == VALUE_TEXT)
        return number_int64(value->text, value->length, into);
    if (!value || value->kind != VALUE_INTEGER)
        return -1;
    *into = value->integer;
    return 0;
}

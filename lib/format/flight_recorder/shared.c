#include "format/flight_recorder/shared.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

enum { MEMBERS_MOST = 1 << 20 };

/* A text that is shorter is found as fast by what it says as by where it stands. */
enum { TEXT_BYTES_SHORT = 64 };

void dump_shared_init(struct dump_shared *shared)
{
    *shared = (struct dump_shared){.lists = NULL};
    intern_init(&shared->texts);
    map_init(&shared->known);
}

void dump_shared_release(struct dump_shared *shared)
{
    for (size_t i = 0; i < shared->list_count; i++)
        free(shared->lists[i].ranks);
    free(shared->lists);
    map_release(&shared->known);
    intern_release(&shared->texts);
}

/* Where it stands. A name may be written as a list of ranks is. */
static struct map_key key_of(const void *place, size_t length, int is_list)
{
    return (struct map_key){{(uint64_t)(uintptr_t)place, length, (uint64_t)is_list}};
}

int64_t dump_shared_text(struct dump_shared *shared, const struct value *text)
{
    if (text->length < TEXT_BYTES_SHORT)
        return intern_put(&shared->texts, text->text, text->length);
    int is_new;
    int64_t *known = map_put(&shared->known, key_of(text->text, text->length, 0), -1, &is_new);
    if (known && is_new)
        *known = intern_put(&shared->texts, text->text, text->length);
    return known ? *known : -1;
}

/* Whole numbers in a text such as "[0, 1, 2]". 1 when it holds none, -1 when memory is out. */
static int ranks_of_text(const struct value *text, struct rank_list *list)
{
    size_t capacity = 0;
    const char *at = text->text, *end = at + text->length;
    for (;;) {
        int64_t rank = 0;
        while (at < end && (*at < '0' || *at > '9'))
            at++;
        if (at == end)
            return list->count == 0;
        while (at < end && *at >= '0' && *at <= '9' && rank <= INT32_MAX)
            rank = rank * 10 + (*at++ - '0');
        if (rank > INT32_MAX || list->count == MEMBERS_MOST)
            return 1;
        if (array_reserve((void **)&list->ranks, &capacity, list->count + 1, sizeof *list->ranks))
            return -1;
        list->ranks[list->count++] = rank;
    }
}

static int ranks_of_list(const struct value_items *items, struct rank_list *list)
{
    if (items->count == 0 || items->count > MEMBERS_MOST)
        return 1;
    list->ranks = array_new(items->count, sizeof *list->ranks);
    if (!list->ranks)
        return -1;
    for (; list->count < items->count; list->count++) {
        int64_t *rank = &list->ranks[list->count];
        if (value_int64(&items->items[list->count], rank) || *rank < 0 || *rank > INT32_MAX)
            return 1;
    }
    return 0;
}

/* Its number; -1 where it is none, -2 when memory is out. */
static int64_t add_list(struct dump_shared *shared, const struct value *value)
{
    struct rank_list list = {.ranks = NULL};
    int status = value->kind == VALUE_TEXT ? ranks_of_text(value, &list) : ranks_of_list(value->items, &list);
    if (status == 0 && array_reserve((void **)&shared->lists, &shared->list_capacity, shared->list_count + 1,
                                     sizeof *shared->lists))
        status = -1;
    if (status) {
        free(list.ranks);
        return status > 0 ? -1 : -2;
    }
    shared->lists[shared->list_count] = list;
    return (int64_t)shared->list_count++;
}

int64_t dump_shared_list(struct dump_shared *shared, const struct value *value)
{
    if (!value || (value->kind != VALUE_TEXT && value->kind != VALUE_LIST))
        return -1;
    int is_text = value->kind == VALUE_TEXT, is_new;
    const void *place = is_text ? (const void *)value->text : (const void *)value->items;
    int64_t *known = map_put(&shared->known, key_of(place, is_text ? value->length : 0, 1), -2, &is_new);
    if (known && is_new)
        *known = add_list(shared, value);
    return known ? *known : -2;
}

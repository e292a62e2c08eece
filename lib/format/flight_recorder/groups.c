/*
 * The process groups of a Flight Recorder dump: shared names and lists of ranks, and the group information in
 * pg_config and pg_status.
 */
#include "base/base.h"
#include "format/flight_recorder/flight_recorder.h"
#include "input/input.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

enum { MEMBERS_MOST = 1 << 20 };

/* A shorter text is found as fast by its content as by its place. */
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

/* The place of a value. A name may have the same text as a list of ranks. */
static struct map_key key_of(const void *place, size_t length, int is_list)
{
    return (struct map_key){{(uint64_t)(uintptr_t)place, length, (uint64_t)is_list}};
}

/* The number of a text in `texts`; -1 when memory is out. */
static int64_t dump_shared_text(struct dump_shared *shared, const struct value *text)
{
    if (text->length < TEXT_BYTES_SHORT)
        return intern_put(&shared->texts, text->text, text->length);
    int is_new;
    int64_t *known = map_put(&shared->known, key_of(text->text, text->length, 0), -1, &is_new);
    if (known && is_new)
        *known = intern_put(&shared->texts, text->text, text->length);
    return known ? *known : -1;
}

/* Integers in a text such as "[0, 1, 2]". Returns 1 if it has none, -1 if memory is out. */
static int ranks_of_text(const struct value *text, struct rank_list *list)
{
    size_t capacity = 0;
    const char *at = text->text, *end = at + text->length;
    for (;;) {
        int64_t rank = 0;
        while (at < end && !is_digit(*at))
            at++;
        if (at == end)
            return list->count == 0;
        while (at < end && is_digit(*at) && rank <= INT32_MAX)
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

/* Returns its number; -1 if it is not a list, -2 if memory is out. */
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

/*
 * Returns the number in `lists` of a list of ranks, written as "[0, 1, 2]" or as a list of numbers. -1: it is
 * not one; -2: memory is out.
 */
static int64_t dump_shared_list(struct dump_shared *shared, const struct value *value)
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

/* Limit on the groups of a dump. */
enum { GROUPS_MOST = 4096 };

/* The key of a group. */
struct group_key {
    int64_t pg_id;
    int32_t name; /* in shared.texts; -1: not given */
    int32_t description;
};

/* Returns -1 if memory is out. */
static int take_texts(struct dump *dump, const struct value *name, const struct value *description,
                      struct group_key *key)
{
    int64_t name_number = name ? dump_shared_text(&dump->shared, name) : -1;
    int64_t number = description ? dump_shared_text(&dump->shared, description) : -1;
    key->name = (int32_t)name_number;
    key->description = (int32_t)number;
    return (name && name_number < 0) || (description && number < 0) ? -1 : 0;
}

static int32_t add_group(struct dump *dump, const struct group_key *key)
{
    if (dump->group_count == GROUPS_MOST)
        return -2;
    if (array_reserve((void **)&dump->groups, &dump->group_capacity, dump->group_count + 1,
                      sizeof *dump->groups))
        return -1;
    dump->groups[dump->group_count] = (struct dump_group){.name = key->name,
                                                          .description = key->description,
                                                          .list = -1,
                                                          .pg_id = key->pg_id,
                                                          .own_rank = COUNT_UNKNOWN,
                                                          .greatest_rank = COUNT_UNKNOWN,
                                                          .last_enqueued = COUNT_UNKNOWN,
                                                          .last_started = COUNT_UNKNOWN,
                                                          .last_completed = COUNT_UNKNOWN};
    return (int32_t)dump->group_count++;
}

int32_t dump_group_of(struct dump *dump, int64_t pg_id, const struct value *name,
                      const struct value *description)
{
    struct group_key key = {.pg_id = pg_id};
    int is_new;
    if (take_texts(dump, name, description, &key))
        return -1;
    struct map_key place = {{(uint64_t)pg_id, (uint64_t)key.name, (uint64_t)key.description}};
    int64_t *group = map_put(&dump->group_of, place, -2, &is_new);
    if (group && is_new)
        *group = add_group(dump, &key);
    return group ? (int32_t)*group : -1;
}

static int take_members(struct dump *dump, struct dump_group *group, const struct value *value,
                        size_t *unread)
{
    int64_t list = dump_shared_list(&dump->shared, value);
    if (list >= 0)
        group->list = (int32_t)list;
    *unread += list == -1;
    return list < -1 ? -1 : 0;
}

static int is_named(const struct dump_group *group, const struct group_key *key)
{
    return group->name == key->name && group->description == key->description;
}

static int has_group(const struct dump *dump, const struct group_key *key)
{
    for (size_t i = 0; i < dump->group_count; i++)
        if (is_named(&dump->groups[i], key))
            return 1;
    return 0;
}

/*
 * {name: {name, desc, ranks}}. Of two groups with the same name torch writes only the first; the description
 * shows which.
 */
static int take_named(struct dump *dump, const struct value *config, size_t *unread)
{
    const struct value *name = value_member(config, "name"), *description = value_member(config, "desc");
    if (!name || name->kind != VALUE_TEXT || (description && description->kind != VALUE_TEXT)) {
        ++*unread;
        return 0;
    }
    struct group_key key = {.pg_id = COUNT_UNKNOWN};
    if (take_texts(dump, name, description, &key) || (!has_group(dump, &key) && add_group(dump, &key) == -1))
        return -1;
    for (size_t i = 0; i < dump->group_count; i++) {
        struct dump_group *group = &dump->groups[i];
        if (is_named(group, &key) && take_members(dump, group, value_member(config, "ranks"), unread))
            return -1;
    }
    return 0;
}

/* {pg_id: [ranks]}, version 1.4. */
static int take_numbered(struct dump *dump, const struct value *key, const struct value *ranks,
                         size_t *unread)
{
    int64_t pg_id;
    if (value_int64(key, &pg_id)) {
        ++*unread;
        return 0;
    }
    for (size_t i = 0; i < dump->group_count; i++)
        if (dump->groups[i].pg_id == pg_id && take_members(dump, &dump->groups[i], ranks, unread))
            return -1;
    return 0;
}

int dump_take_config(struct dump *dump, const struct value *config, size_t *unread)
{
    if (!config || config->kind == VALUE_NULL)
        return 0;
    if (config->kind != VALUE_DICTIONARY || config->items->count / 2 > GROUPS_MOST) {
        ++*unread;
        return 0;
    }
    for (size_t i = 0; i + 1 < config->items->count; i += 2) {
        const struct value *key = &config->items->items[i], *value = key + 1;
        if (value->kind == VALUE_DICTIONARY ? take_named(dump, value, unread)
                                            : take_numbered(dump, key, value, unread))
            return -1;
    }
    return 0;
}

/* A row of pg_status, or a group of pg_config, with its number. */
struct numbered {
    int64_t number;
    size_t at;
};

static int by_number(const void *a, const void *b)
{
    const struct numbered *left = a, *right = b;
    return (left->number > right->number) - (left->number < right->number);
}

/*
 * Lists the groups of pg_config if all their names are counters. Returns how many there are; -1 if some name
 * is not.
 */
static int64_t list_config(const struct dump *dump, struct numbered *list)
{
    int64_t count = 0;
    for (size_t i = 0; i < dump->group_count; i++) {
        const struct dump_group *group = &dump->groups[i];
        if (group->list < 0)
            continue;
        const char *name = group->name < 0 ? NULL : intern_text(&dump->shared.texts, group->name);
        if (!name || number_int64(name, strlen(name), &list[count].number))
            return -1;
        list[count++].at = i;
    }
    array_sort(list, (size_t)count, sizeof *list, by_number);
    return count;
}

static int64_t list_status(const struct value_items *status, struct numbered *list)
{
    int64_t count = 0;
    for (size_t i = 0; i + 1 < status->count; i += 2) {
        if (value_int64(&status->items[i], &list[count].number))
            return -1;
        list[count++].at = i;
    }
    array_sort(list, (size_t)count, sizeof *list, by_number);
    return count;
}

/*
 * pg_status has the process's own numbers, pg_config has names, and only entries have both. Numbers and names
 * are counters that increase as groups are created: if there are equally many of both and no entry
 * contradicts, they correspond in order. That gives a status also to a rank whose calls have all completed.
 */
static void match_in_order(struct dump *dump, const struct numbered *groups, const struct numbered *rows,
                           int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t pg_id = dump->groups[groups[i].at].pg_id;
        if (pg_id != COUNT_UNKNOWN && pg_id != rows[i].number)
            return;
    }
    for (int64_t i = 0; i < count; i++)
        dump->groups[groups[i].at].pg_id = rows[i].number;
}

static int match_numbers(struct dump *dump, const struct value_items *status)
{
    struct numbered *groups = array_new(dump->group_count + 1, sizeof *groups);
    struct numbered *rows = array_new(status->count / 2 + 1, sizeof *rows);
    if (groups && rows) {
        int64_t count = list_config(dump, groups);
        if (count > 0 && list_status(status, rows) == count)
            match_in_order(dump, groups, rows, count);
    }
    int failed = !groups || !rows;
    free(groups);
    free(rows);
    return failed ? -1 : 0;
}

/* A number in pg_status; -1 means none. */
static int64_t status_number(const struct value *status, const char *key)
{
    int64_t number;
    return value_int64(value_member(status, key), &number) || number < -1 ? COUNT_UNKNOWN : number;
}

static void take_row(struct dump *dump, int64_t pg_id, const struct value *row)
{
    for (size_t i = 0; i < dump->group_count; i++) {
        struct dump_group *group = &dump->groups[i];
        if (group->pg_id != pg_id)
            continue;
        group->has_status = 1;
        group->last_enqueued = status_number(row, "last_enqueued_collective");
        group->last_started = status_number(row, "last_started_collective");
        group->last_completed = status_number(row, "last_completed_collective");
    }
}

int dump_take_status(struct dump *dump, const struct value *status, size_t *unread)
{
    /*
     * A truncated pg_status is not used: a rank that waits in one of the missing groups would seem to wait in
     * none.
     */
    if (!status || status->kind == VALUE_NULL || (status->kind == VALUE_DICTIONARY && status->items->is_cut))
        return 0;
    if (status->kind != VALUE_DICTIONARY || status->items->count / 2 > GROUPS_MOST) {
        ++*unread;
        return 0;
    }
    if (match_numbers(dump, status->items))
        return -1;
    for (size_t i = 0; i + 1 < status->items->count; i += 2) {
        const struct value *row = &status->items->items[i + 1];
        int64_t pg_id;
        if (row->kind == VALUE_DICTIONARY && value_int64(&status->items->items[i], &pg_id) == 0)
            take_row(dump, pg_id, row);
        else
            ++*unread;
    }
    return 0;
}

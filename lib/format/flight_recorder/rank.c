#include "format/flight_recorder/rank.h"

#include "base/array.h"
#include "base/map.h"
#include "format/path_rank.h"

#include <stdlib.h>

/* In how many lists of groups each rank is. Groups that share a list are looked at once. */
struct presence {
    const struct dump *dump;
    struct map lists_of; /* rank -> in how many, and 1 + the last of them */
    int64_t lists;
};

enum { COUNT_SHIFT = 32 };

static int note_list(struct presence *presence, int32_t number)
{
    const struct rank_list *list = &presence->dump->shared.lists[number];
    for (size_t i = 0; i < list->count; i++) {
        int64_t *of = map_put(&presence->lists_of, (struct map_key){{(uint64_t)list->ranks[i]}}, 0, NULL);
        if (!of)
            return -1;
        if ((*of & UINT32_MAX) != (int64_t)number + 1)
            *of = (((*of >> COUNT_SHIFT) + 1) << COUNT_SHIFT) | ((int64_t)number + 1);
    }
    presence->lists++;
    return 0;
}

static int note_lists(struct presence *presence)
{
    const struct dump *dump = presence->dump;
    unsigned char *is_noted = array_new(dump->shared.list_count, 1);
    int failed = !is_noted;
    for (size_t i = 0; !failed && i < dump->group_count; i++) {
        int32_t list = dump->groups[i].list;
        if (list < 0 || is_noted[list])
            continue;
        is_noted[list] = 1;
        failed = note_list(presence, list);
    }
    free(is_noted);
    return failed ? -1 : 0;
}

static int is_in_all(const struct presence *presence, int64_t rank)
{
    const int64_t *of = map_get(&presence->lists_of, (struct map_key){{(uint64_t)rank}});
    return (of ? *of >> COUNT_SHIFT : 0) == presence->lists;
}

/* By what its sends and receives call it. */
static int64_t rank_by_calls(const struct dump *dump)
{
    for (size_t i = 0; i < dump->group_count; i++) {
        const struct dump_group *group = &dump->groups[i];
        struct rank_list members = dump_members(dump, group);
        if (members.ranks && group->own_rank >= 0 && group->own_rank < (int64_t)members.count)
            return members.ranks[group->own_rank];
    }
    return COUNT_UNKNOWN;
}

/* The only one that is in all groups. */
static int64_t rank_by_groups(const struct presence *presence)
{
    const struct dump *dump = presence->dump;
    struct rank_list least = {.ranks = NULL};
    int64_t rank = COUNT_UNKNOWN;
    for (size_t i = 0; i < dump->group_count; i++) {
        struct rank_list members = dump_members(dump, &dump->groups[i]);
        if (members.ranks && (!least.ranks || members.count < least.count))
            least = members;
    }
    for (size_t i = 0; i < least.count; i++) {
        if (!is_in_all(presence, least.ranks[i]))
            continue;
        if (rank != COUNT_UNKNOWN)
            return COUNT_UNKNOWN;
        rank = least.ranks[i];
    }
    return rank;
}

int dump_rank(const struct dump *dump, const char *path, struct dump_rank *found)
{
    struct presence presence = {.dump = dump};
    int64_t named = rank_of_path(path), rank = rank_by_calls(dump);
    map_init(&presence.lists_of);
    int failed = rank == COUNT_UNKNOWN && note_lists(&presence);
    if (!failed && rank == COUNT_UNKNOWN && named != COUNT_UNKNOWN && is_in_all(&presence, named))
        rank = named;
    if (!failed && rank == COUNT_UNKNOWN)
        rank = rank_by_groups(&presence);
    map_release(&presence.lists_of);
    *found = (struct dump_rank){.rank = rank, .name_is_otherwise = named != COUNT_UNKNOWN && named != rank};
    return failed ? -1 : 0;
}

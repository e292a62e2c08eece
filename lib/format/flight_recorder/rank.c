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

/* Lists of groups, each once; is_used: per list. NULL: no memory. */
static unsigned char *used_lists(const struct dump *dump)
{
    unsigned char *is_used = array_new(dump->shared.list_count, 1);
    for (size_t i = 0; is_used && i < dump->group_count; i++)
        if (dump->groups[i].list >= 0)
            is_used[dump->groups[i].list] = 1;
    return is_used;
}

static int note_lists(struct presence *presence, const unsigned char *is_used)
{
    for (size_t i = 0; i < presence->dump->shared.list_count; i++)
        if (is_used[i] && note_list(presence, (int32_t)i))
            return -1;
    return 0;
}

static int is_in(const struct rank_list *list, int64_t rank)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->ranks[i] == rank)
            return 1;
    return 0;
}

static int is_in_all(const struct dump *dump, const unsigned char *is_used, int64_t rank)
{
    for (size_t i = 0; i < dump->shared.list_count; i++)
        if (is_used[i] && !is_in(&dump->shared.lists[i], rank))
            return 0;
    return 1;
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

static struct rank_list least_list(const struct dump *dump)
{
    struct rank_list least = {.ranks = NULL};
    for (size_t i = 0; i < dump->group_count; i++) {
        struct rank_list members = dump_members(dump, &dump->groups[i]);
        if (members.ranks && (!least.ranks || members.count < least.count))
            least = members;
    }
    return least;
}

/* The only one that is in all groups. */
static int64_t only_common(const struct presence *presence)
{
    struct rank_list least = least_list(presence->dump);
    int64_t rank = COUNT_UNKNOWN;
    for (size_t i = 0; i < least.count; i++) {
        const int64_t *of = map_get(&presence->lists_of, (struct map_key){{(uint64_t)least.ranks[i]}});
        if (!of || *of >> COUNT_SHIFT != presence->lists)
            continue;
        if (rank != COUNT_UNKNOWN)
            return COUNT_UNKNOWN;
        rank = least.ranks[i];
    }
    return rank;
}

static int rank_by_groups(const struct dump *dump, const unsigned char *is_used, int64_t *rank)
{
    struct presence presence = {.dump = dump};
    map_init(&presence.lists_of);
    int failed = note_lists(&presence, is_used);
    *rank = only_common(&presence);
    map_release(&presence.lists_of);
    return failed;
}

int dump_rank(const struct dump *dump, const char *path, struct dump_rank *found)
{
    int64_t named = rank_of_path(path), rank = rank_by_calls(dump);
    unsigned char *is_used = used_lists(dump);
    if (!is_used)
        return -1;
    if (rank == COUNT_UNKNOWN && named != COUNT_UNKNOWN && is_in_all(dump, is_used, named))
        rank = named;
    int failed = rank == COUNT_UNKNOWN && rank_by_groups(dump, is_used, &rank);
    free(is_used);
    *found = (struct dump_rank){.rank = rank, .name_is_otherwise = named != COUNT_UNKNOWN && named != rank};
    return failed ? -1 : 0;
}

#include "format/flight_recorder/rank.h"

#include <string.h>

/* More are no rank, but a date. */
enum { RANK_DIGITS_MOST = 7 };

static int is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* Where a name's ending begins: ".json", ".pkl.gz"; one of digits alone is none. */
static size_t without_endings(const char *name, size_t length)
{
    for (size_t i = length; i-- > 1;) {
        if (is_digit(name[i]) && length == i + 1)
            return length;
        if (name[i] == '.')
            length = i;
        else if (name[i] == '_' || name[i] == '-')
            return length;
    }
    return length;
}

int64_t rank_of_path(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t length = without_endings(name, strlen(name)), begin = length;
    int64_t rank = 0;
    while (begin > 0 && is_digit(name[begin - 1]))
        begin--;
    if (begin == length || length - begin > RANK_DIGITS_MOST)
        return COUNT_UNKNOWN;
    for (size_t i = begin; i < length; i++)
        rank = rank * 10 + (name[i] - '0');
    return rank;
}

static int is_in(const struct dump_group *group, int64_t rank)
{
    for (size_t i = 0; i < group->member_count; i++)
        if (group->members[i] == rank)
            return 1;
    return 0;
}

static int is_in_all(const struct dump *dump, int64_t rank)
{
    for (size_t i = 0; i < dump->group_count; i++)
        if (dump->groups[i].members && !is_in(&dump->groups[i], rank))
            return 0;
    return 1;
}

/* By what its sends and receives call it. */
static int64_t rank_by_calls(const struct dump *dump)
{
    for (size_t i = 0; i < dump->group_count; i++) {
        const struct dump_group *group = &dump->groups[i];
        if (group->members && group->own_rank >= 0 && group->own_rank < (int64_t)group->member_count)
            return group->members[group->own_rank];
    }
    return COUNT_UNKNOWN;
}

/* The only one that is in all groups. */
static int64_t rank_by_groups(const struct dump *dump)
{
    const struct dump_group *least = NULL;
    int64_t rank = COUNT_UNKNOWN;
    for (size_t i = 0; i < dump->group_count; i++)
        if (dump->groups[i].members && (!least || dump->groups[i].member_count < least->member_count))
            least = &dump->groups[i];
    for (size_t i = 0; least && i < least->member_count; i++) {
        if (!is_in_all(dump, least->members[i]))
            continue;
        if (rank != COUNT_UNKNOWN)
            return COUNT_UNKNOWN;
        rank = least->members[i];
    }
    return rank;
}

struct dump_rank dump_rank(const struct dump *dump, const char *path)
{
    int64_t named = rank_of_path(path), rank = rank_by_calls(dump);
    if (rank == COUNT_UNKNOWN && named != COUNT_UNKNOWN && is_in_all(dump, named))
        rank = named;
    if (rank == COUNT_UNKNOWN)
        rank = rank_by_groups(dump);
    return (struct dump_rank){.rank = rank, .name_is_otherwise = named != COUNT_UNKNOWN && named != rank};
}

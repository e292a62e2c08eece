#include "format/flight_recorder/rank.h"

#include "format/path_rank.h"

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

#include "join/work.h"

#include "base/array.h"

#include <stdlib.h>

static int32_t rank_of(const struct work_member *member)
{
    return member->job_rank;
}

static int32_t communicator_of(const struct work_member *member)
{
    return member->communicator;
}

/* Counting sort: members of one group keep their order. */
static int group(const struct work *work, size_t groups, int32_t (*group_of)(const struct work_member *),
                 struct grouping *grouping)
{
    size_t *next = array_new(groups + 1, sizeof *next);
    grouping->first = array_new(groups + 1, sizeof *grouping->first);
    grouping->items = array_new(work->member_count, sizeof *grouping->items);
    if (!next || !grouping->first || !grouping->items) {
        free(next);
        return -1;
    }
    for (size_t i = 0; i < work->member_count; i++)
        grouping->first[group_of(&work->members[i]) + 1]++;
    for (size_t i = 0; i < groups; i++)
        next[i + 1] = grouping->first[i + 1] += grouping->first[i];
    for (size_t i = 0; i < work->member_count; i++)
        grouping->items[next[group_of(&work->members[i])]++] = (int32_t)i;
    free(next);
    return 0;
}

int work_group_members(struct work *work, struct error *error)
{
    if (group(work, work->rank_count, rank_of, &work->by_rank) ||
        group(work, work->communicator_count, communicator_of, &work->by_communicator))
        return error_no_memory(error);
    return 0;
}

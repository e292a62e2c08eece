/*
 * The progress of ranks in torch's watchdog messages: collects what is printed about each rank, and at the
 * end of the file finds the groups of works and the sizes of groups.
 */
#include "base/base.h"
#include "format/internal.h"
#include "format/torch/torch.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void torch_ranks_init(struct torch_ranks *ranks)
{
    *ranks = (struct torch_ranks){.of_all = -1};
    intern_init(&ranks->texts);
    map_init(&ranks->by_member);
    map_init(&ranks->by_work);
    map_init(&ranks->latest);
    map_init(&ranks->by_remark);
    map_init(&ranks->by_group);
    map_init(&ranks->waiting);
}

void torch_ranks_release(struct torch_ranks *ranks)
{
    intern_release(&ranks->texts);
    map_release(&ranks->by_member);
    map_release(&ranks->by_work);
    map_release(&ranks->latest);
    map_release(&ranks->by_remark);
    map_release(&ranks->by_group);
    map_release(&ranks->waiting);
    free(ranks->member_list);
    free(ranks->works);
    free(ranks->remarks);
    free(ranks->groups);
}

int torch_ranks_text(struct torch_ranks *ranks, struct text text, int64_t *number)
{
    *number = text.length ? intern_put(&ranks->texts, text.data, text.length) : -1;
    return text.length && *number < 0 ? -1 : 0;
}

static struct map_key key_of(int64_t one, int64_t other)
{
    return (struct map_key){{(uint64_t)one, (uint64_t)other}};
}

/* The rank that printed a line, among the ranks of the file. */
static int64_t whose(const struct watchdog_line *said)
{
    return said->global_rank == COUNT_UNKNOWN ? said->rank : said->global_rank;
}

/* Finds or adds a rank of a group. NULL if memory is out. */
static struct torch_member *torch_ranks_member(struct torch_ranks *ranks, int64_t group, int64_t rank)
{
    int added;
    if (array_reserve((void **)&ranks->member_list, &ranks->member_capacity, ranks->member_list_count + 1,
                      sizeof *ranks->member_list))
        return NULL;
    int64_t *at = map_put(&ranks->by_member, key_of(group, rank), (int64_t)ranks->member_list_count, &added);
    if (!at)
        return NULL;
    if (added)
        ranks->member_list[ranks->member_list_count++] = (struct torch_member){.group = group,
                                                                               .description = -1,
                                                                               .rank = rank,
                                                                               .global_rank = COUNT_UNKNOWN,
                                                                               .enqueued = COUNT_UNKNOWN,
                                                                               .completed = COUNT_UNKNOWN,
                                                                               .failed = COUNT_UNKNOWN,
                                                                               .operation = -1,
                                                                               .elements = COUNT_UNKNOWN,
                                                                               .elements_out = COUNT_UNKNOWN};
    return &ranks->member_list[*at];
}

static struct torch_group *group_at(struct torch_ranks *ranks, int64_t group)
{
    int added;
    if (array_reserve((void **)&ranks->groups, &ranks->group_capacity, ranks->group_count + 1,
                      sizeof *ranks->groups))
        return NULL;
    int64_t *at = map_put(&ranks->by_group, key_of(group, 0), (int64_t)ranks->group_count, &added);
    if (at && added)
        ranks->groups[ranks->group_count++] = (struct torch_group){.greatest = -1};
    return at ? &ranks->groups[*at] : NULL;
}

const struct torch_group *torch_ranks_group(const struct torch_ranks *ranks, int64_t group)
{
    const int64_t *at = map_get(&ranks->by_group, key_of(group, 0));
    return at ? &ranks->groups[*at] : NULL;
}

static int note_size(struct torch_ranks *ranks, int64_t group, int64_t size)
{
    struct torch_group *of = group_at(ranks, group);
    if (!of)
        return -1;
    of->is_doubtful |= of->size && size && of->size != size;
    of->size = size ? size : of->size;
    return 0;
}

/* torch's name of the group of all ranks. */
static const char OF_ALL[] = "0";

static int name_group_of_all(struct torch_ranks *ranks, int64_t *group)
{
    if (ranks->of_all < 0 && torch_ranks_text(ranks, (struct text){OF_ALL, strlen(OF_ALL)}, &ranks->of_all))
        return -1;
    *group = ranks->of_all;
    return 0;
}

int torch_ranks_list_all(struct torch_ranks *ranks, int64_t group, int64_t size)
{
    return group < 0 && name_group_of_all(ranks, &group) ? -1 : note_size(ranks, group, size);
}

/* Keeps a work from a line without a group. Another line of the same rank about the work has the group. */
static int keep_work(struct torch_ranks *ranks, const struct watchdog_line *said, uint64_t offset)
{
    struct torch_work work = {.rank = said->rank,
                              .global_rank = said->global_rank,
                              .number = said->failed,
                              .elements = said->elements,
                              .elements_out = said->elements_out,
                              .offset = offset};
    int added;
    if (torch_ranks_text(ranks, said->operation, &work.operation) ||
        array_reserve((void **)&ranks->works, &ranks->work_capacity, ranks->work_count + 1,
                      sizeof *ranks->works))
        return -1;
    struct map_key key = {{(uint64_t)whose(said), (uint64_t)work.number, (uint64_t)work.operation}};
    int64_t *at = map_put(&ranks->by_work, key, (int64_t)ranks->work_count, &added);
    int64_t *latest = at ? map_put(&ranks->latest, key_of(whose(said), work.number), *at, NULL) : NULL;
    if (!latest)
        return -1;
    *latest = *at;
    if (added)
        ranks->works[ranks->work_count++] = work;
    return 0;
}

static int is_default(const struct watchdog_line *said)
{
    return text_is(said->description, "default_pg") || text_is(said->group, OF_ALL);
}

static void take_failed(struct torch_ranks *ranks, struct torch_member *member, int64_t rank)
{
    const int64_t *at = map_get(&ranks->latest, key_of(rank, member->failed));
    struct torch_work *work = at ? &ranks->works[*at] : NULL;
    if (!work)
        return;
    member->operation = work->operation;
    member->elements = work->elements;
    member->elements_out = work->elements_out;
    member->lost_peer |= work->lost_peer;
    work->is_placed = 1;
}

static int take_communicator_member(struct torch_ranks *ranks, const struct watchdog_line *said,
                                    uint64_t offset)
{
    int64_t group;
    if (torch_ranks_text(ranks, said->group, &group))
        return -1;
    struct torch_member *member = torch_ranks_member(ranks, group, said->rank);
    if (!member || torch_ranks_text(ranks, said->description, &member->description))
        return -1;
    member->offset = offset;
    if (said->global_rank != COUNT_UNKNOWN || is_default(said))
        member->global_rank = whose(said);
    if (said->enqueued != COUNT_UNKNOWN) {
        member->enqueued = said->enqueued;
        member->completed = said->completed;
    }
    if (said->failed != COUNT_UNKNOWN) {
        member->failed = said->failed;
        take_failed(ranks, member, whose(said));
    }
    return 0;
}

int torch_ranks_take(struct torch_ranks *ranks, const struct watchdog_line *said, uint64_t offset)
{
    if (said->group.length)
        return take_communicator_member(ranks, said, offset);
    return said->failed == COUNT_UNKNOWN ? 0 : keep_work(ranks, said, offset);
}

void torch_ranks_lose_peer(struct torch_ranks *ranks, int64_t rank, int64_t number)
{
    const int64_t *at = map_get(&ranks->latest, key_of(rank, number));
    if (at)
        ranks->works[*at].lost_peer = 1;
}

int torch_ranks_remark(struct torch_ranks *ranks, const struct torch_remark *remark)
{
    int64_t rank = remark->global_rank == COUNT_UNKNOWN ? remark->rank : remark->global_rank;
    struct map_key key = {
        {(uint64_t)remark->kind, (uint64_t)rank, (uint64_t)remark->accused, (uint64_t)remark->text}};
    int added;
    if (!map_put(&ranks->by_remark, key, 1, &added) ||
        array_reserve((void **)&ranks->remarks, &ranks->remark_capacity, ranks->remark_count + 1,
                      sizeof *ranks->remarks))
        return -1;
    if (added)
        ranks->remarks[ranks->remark_count++] = *remark;
    return 0;
}

/* The only group in which other ranks failed at the same work; -1 if there is none, or several. */
static int64_t group_of_work(const struct map *groups, const struct torch_work *work)
{
    const int64_t *group = map_get(groups, key_of(work->number, work->operation));
    const int64_t *by_number = map_get(groups, key_of(work->number, -1));
    return group ? *group : by_number ? *by_number : -1;
}

/* Maps number and operation of the works that failed in groups to the group; -1 if several. */
static int list_groups(const struct torch_ranks *ranks, struct map *groups)
{
    for (size_t i = 0; i < ranks->member_list_count; i++) {
        const struct torch_member *member = &ranks->member_list[i];
        if (member->failed == COUNT_UNKNOWN)
            continue;
        int64_t *group = map_put(groups, key_of(member->failed, member->operation), member->group, NULL);
        if (!group)
            return -1;
        if (*group != member->group)
            *group = -1;
    }
    return 0;
}

/*
 * Whether all works without a group may belong to the group of all ranks: each rank waits in one, and all in
 * the same. Before torch 2.4 the rank in brackets is that in any group; if it differs from the global rank,
 * the group is another one.
 */
static int are_of_one_group(const struct torch_ranks *ranks)
{
    const struct torch_work *first = NULL;
    for (size_t i = 0; i < ranks->work_count; i++) {
        const struct torch_work *work = &ranks->works[i];
        if (work->is_placed)
            continue;
        first = first ? first : work;
        if (work->number != first->number ||
            (work->global_rank != COUNT_UNKNOWN && work->global_rank != work->rank))
            return 0;
    }
    return 1;
}

/* Makes a name for a group without one. */
static int name_group(struct torch_ranks *ranks, const struct torch_work *work, int is_one, int64_t *group)
{
    char name[96];
    if (is_one)
        return name_group_of_all(ranks, group);
    snprintf(name, sizeof name, "group without a name, work %lld of rank %lld", (long long)work->number,
             (long long)work->rank);
    return torch_ranks_text(ranks, (struct text){name, strlen(name)}, group);
}

static int place_work(struct torch_ranks *ranks, struct torch_work *work, int64_t group, int is_default_group)
{
    struct torch_member *member = torch_ranks_member(ranks, group, work->rank);
    if (!member)
        return -1;
    /* A record with the progress of the rank has more information. */
    if (member->failed != COUNT_UNKNOWN)
        return 0;
    member->failed = work->number;
    member->operation = work->operation;
    member->elements = work->elements;
    member->elements_out = work->elements_out;
    member->lost_peer |= work->lost_peer;
    member->offset = work->offset;
    work->is_placed = 1;
    if (work->global_rank != COUNT_UNKNOWN || is_default_group)
        member->global_rank = work->global_rank == COUNT_UNKNOWN ? work->rank : work->global_rank;
    return 0;
}

static int place_works(struct torch_ranks *ranks, const struct map *groups)
{
    for (size_t i = 0; i < ranks->work_count; i++) {
        struct torch_work *work = &ranks->works[i];
        int64_t group = work->is_placed ? -1 : group_of_work(groups, work);
        if (group >= 0 && place_work(ranks, work, group, 0))
            return -1;
    }
    int is_one = are_of_one_group(ranks);
    for (size_t i = 0; i < ranks->work_count; i++) {
        struct torch_work *work = &ranks->works[i];
        int64_t group;
        if (!work->is_placed &&
            (name_group(ranks, work, is_one, &group) || place_work(ranks, work, group, is_one)))
            return -1;
    }
    return 0;
}

/* The number of ranks of a work, from its input and output elements; 0 if they do not show it. */
static int64_t size_by_elements(const struct torch_ranks *ranks, const struct torch_member *member)
{
    const char *operation = member->operation < 0 ? "" : intern_text(&ranks->texts, member->operation);
    int64_t least = member->elements, most = member->elements_out;
    if (strstr(operation, "REDUCE_SCATTER")) {
        least = member->elements_out;
        most = member->elements;
    } else if (!strstr(operation, "ALLGATHER"))
        return 0;
    return least > 0 && most > least && most % least == 0 && most / least > member->rank ? most / least : 0;
}

/* A status may be printed before the line about its work. */
static void fill_works(struct torch_ranks *ranks)
{
    for (size_t i = 0; i < ranks->member_list_count; i++) {
        struct torch_member *member = &ranks->member_list[i];
        if (member->failed != COUNT_UNKNOWN && member->operation < 0)
            take_failed(ranks, member,
                        member->global_rank == COUNT_UNKNOWN ? member->rank : member->global_rank);
    }
}

static int64_t whose_remark(const struct torch_remark *remark)
{
    return remark->global_rank == COUNT_UNKNOWN ? remark->rank : remark->global_rank;
}

int torch_ranks_waits(const struct torch_ranks *ranks, const struct torch_remark *remark)
{
    return map_get(&ranks->waiting, key_of(whose_remark(remark), 0)) != NULL;
}

int torch_ranks_may_be_of_all(const struct torch_remark *remark)
{
    return remark->global_rank == COUNT_UNKNOWN || remark->rank == remark->global_rank;
}

/* The ranks that a report names exist, even if nothing else is known of them. */
static int count_accused(struct torch_ranks *ranks)
{
    int64_t group;
    if (name_group_of_all(ranks, &group))
        return -1;
    for (size_t i = 0; i < ranks->remark_count; i++) {
        const struct torch_remark *remark = &ranks->remarks[i];
        if ((remark->group < 0 || remark->group == group) && torch_ranks_may_be_of_all(remark) &&
            remark->accused >= ranks->least_ranks)
            ranks->least_ranks = remark->accused + 1;
    }
    return 0;
}

/* Adds the ranks that appear only in remarks. */
static int member_others(struct torch_ranks *ranks)
{
    struct map seated;
    int64_t group = -1;
    map_init(&seated);
    int failed = 0;
    for (size_t i = 0; !failed && i < ranks->member_list_count; i++) {
        const struct torch_member *member = &ranks->member_list[i];
        struct map_key key =
            key_of(member->global_rank == COUNT_UNKNOWN ? member->rank : member->global_rank, 0);
        failed = !map_put(&seated, key, 1, NULL) ||
                 (member->failed != COUNT_UNKNOWN && !map_put(&ranks->waiting, key, 1, NULL));
    }
    for (size_t i = 0; !failed && i < ranks->remark_count; i++) {
        int64_t rank = whose_remark(&ranks->remarks[i]);
        if (map_get(&seated, key_of(rank, 0)))
            continue;
        struct torch_member *member =
            name_group_of_all(ranks, &group) ? NULL : torch_ranks_member(ranks, group, rank);
        failed = !member || !map_put(&seated, key_of(rank, 0), 1, NULL);
        if (member) {
            member->global_rank = rank;
            member->offset = ranks->remarks[i].offset;
        }
    }
    map_release(&seated);
    return failed ? -1 : 0;
}

/* If tasks are several ranks, a remark about a task does not show which rank ended. */
static void forget_tasks(struct torch_ranks *ranks)
{
    size_t kept = 0;
    for (size_t i = 0; ranks->tasks_start_several && i < ranks->remark_count; i++)
        if (ranks->remarks[i].kind != TORCH_TASK_ENDED)
            ranks->remarks[kept++] = ranks->remarks[i];
    ranks->remark_count = ranks->tasks_start_several ? kept : ranks->remark_count;
}

int torch_ranks_settle(struct torch_ranks *ranks)
{
    struct map groups;
    map_init(&groups);
    fill_works(ranks);
    forget_tasks(ranks);
    int failed = list_groups(ranks, &groups) || place_works(ranks, &groups) || member_others(ranks) ||
                 count_accused(ranks);
    map_release(&groups);
    for (size_t i = 0; !failed && i < ranks->member_list_count; i++) {
        const struct torch_member *member = &ranks->member_list[i];
        struct torch_group *group = group_at(ranks, member->group);
        failed = !group || note_size(ranks, member->group, size_by_elements(ranks, member));
        if (!failed && member->rank > group->greatest)
            group->greatest = member->rank;
    }
    for (size_t i = 0; !failed && i < ranks->group_count; i++)
        if (ranks->groups[i].is_doubtful || ranks->groups[i].size <= ranks->groups[i].greatest)
            ranks->groups[i].size = 0;
    return failed ? -1 : 0;
}

#include "join/told_members.h"

#include "base/array.h"
#include "base/disjoint.h"
#include "base/intern.h"
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

enum { SEVERAL = -1, NOBODY = -1 };

/* Processes by directory and the global rank that they are told to have. */
struct told {
    struct intern sets;
    struct map processes;
    unsigned char *is_used; /* owned: of each communicator, whether any operation of it is recorded */
    struct map
        united; /* (communicator, set) -> one of the processes of its list there, all of which are; NOBODY */
};

static struct map_key key_of(int64_t set, int64_t rank)
{
    return (struct map_key){{(uint64_t)set, (uint64_t)rank}};
}

/* Of a process that no host or id tells, the file that is all of it stands for the directory. */
static int64_t set_of(struct told *told, const struct work_process *process)
{
    const char *slash = process->pid < 0 && !*process->host ? strrchr(process->file_set, '/') : NULL;
    size_t length = slash ? (size_t)(slash - process->file_set) : strlen(process->file_set);
    return intern_put(&told->sets, process->file_set, length);
}

/*
 * The global rank that a process is told to have: itself, or the only place that is known of it, in a
 * communicator of which no operation is recorded. -1.
 */
static int64_t told_rank_of(const struct told *told, const struct work *work, size_t process)
{
    const struct grouping *members = &work->by_process;
    const struct work_process *of = &work->processes[process];
    if (of->told_rank >= 0 || members->first[process + 1] - members->first[process] != 1)
        return of->told_rank;
    const struct work_member *member = &work->members[members->items[members->first[process]]];
    return told->is_used[member->communicator] ? -1 : member->told_rank;
}

static int note_processes(struct told *told, const struct work *work)
{
    for (size_t i = 0; i < work->process_count; i++) {
        int64_t rank = told_rank_of(told, work, i), set = rank < 0 ? 0 : set_of(told, &work->processes[i]);
        int added = 1;
        int64_t *at = rank < 0 ? NULL : map_put(&told->processes, key_of(set, rank), (int64_t)i, &added);
        if (set < 0 || (rank >= 0 && !at))
            return -1;
        if (!added)
            *at = SEVERAL;
    }
    return 0;
}

/* One of the processes of a communicator's list, all of which are united; NOBODY. */
static int64_t unite_list(const struct told *told, const struct work_communicator *communicator, int64_t set,
                          int32_t *parent)
{
    int64_t first = NOBODY;
    for (size_t k = 0; k < communicator->told_count; k++) {
        const int64_t *other = map_get(&told->processes, key_of(set, communicator->told[k]));
        if (!other || *other == SEVERAL)
            continue;
        if (first != NOBODY)
            disjoint_unite(parent, (int32_t)first, (int32_t)*other);
        first = *other;
    }
    return first;
}

/* All members have the same list: it is gone through once. */
static int unite_members(struct told *told, const struct work *work, int32_t *parent)
{
    for (size_t i = 0; i < work->member_count; i++) {
        int32_t process = work->members[i].process, number = work->members[i].communicator;
        const struct work_communicator *communicator = &work->communicators[number];
        int64_t set = communicator->told_count ? set_of(told, &work->processes[process]) : 0;
        int added;
        int64_t *united = set < 0 ? NULL : map_put(&told->united, key_of(number, set), NOBODY, &added);
        if (!united)
            return -1;
        if (added)
            *united = unite_list(told, communicator, set, parent);
        if (*united != NOBODY)
            disjoint_unite(parent, process, (int32_t)*united);
    }
    return 0;
}

int work_unite_told(const struct work *work, int32_t *parent, struct error *error)
{
    struct told told = {.is_used = array_new(work->communicator_count, 1)};
    intern_init(&told.sets);
    map_init(&told.processes);
    for (size_t i = 0; told.is_used && i < work->member_count; i++)
        told.is_used[work->members[i].communicator] |= work->members[i].operations > 0;
    map_init(&told.united);
    int failed = !told.is_used || note_processes(&told, work) || unite_members(&told, work, parent);
    intern_release(&told.sets);
    map_release(&told.processes);
    map_release(&told.united);
    free(told.is_used);
    return failed ? error_no_memory(error) : 0;
}

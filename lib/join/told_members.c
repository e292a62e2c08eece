#include "join/told_members.h"

#include "base/disjoint.h"
#include "base/intern.h"
#include "base/map.h"

#include <string.h>

enum { SEVERAL = -1, NOBODY = -1 };

/* Processes by directory and the global rank that they are told to have. */
struct told {
    struct intern sets;
    struct map processes;
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

static int note_processes(struct told *told, const struct work *work)
{
    for (size_t i = 0; i < work->process_count; i++) {
        int64_t rank = work->processes[i].told_rank, set = rank < 0 ? 0 : set_of(told, &work->processes[i]);
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
    struct told told;
    intern_init(&told.sets);
    map_init(&told.processes);
    map_init(&told.united);
    int failed = note_processes(&told, work) || unite_members(&told, work, parent);
    intern_release(&told.sets);
    map_release(&told.processes);
    map_release(&told.united);
    return failed ? error_no_memory(error) : 0;
}

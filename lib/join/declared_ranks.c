/*
 * Global ranks that files declare for a process or a member: used in place of those from the world
 * communicator, to unite processes that have no recorded communicator in common, and to add ranks that
 * recorded nothing. At the end: the communicators that all ranks of a run share, for the detection of steps.
 */
#include "base/base.h"
#include "join/internal.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

/* The declared rank of a process is that of its rank, if it has only one. */
static int take_process_ranks(const struct work *work, int64_t *told)
{
    int32_t *rank_of = array_new(work->process_count, sizeof *rank_of);
    if (!rank_of)
        return -1;
    for (size_t i = 0; i < work->process_count; i++)
        rank_of[i] = -1;
    for (size_t i = 0; i < work->rank_count; i++) {
        int32_t process = work->ranks[i].process;
        told[i] = -1;
        if (process < 0)
            continue;
        told[i] = rank_of[process] < 0 ? work->processes[process].declared_rank : -1;
        if (rank_of[process] >= 0)
            told[rank_of[process]] = -1;
        rank_of[process] = (int32_t)i;
    }
    free(rank_of);
    return 0;
}

static int take_member_ranks(struct work *work, int64_t *told, struct error *error)
{
    for (size_t i = 0; i < work->member_count; i++) {
        const struct work_member *member = &work->members[i];
        if (member->declared_rank < 0 || member->job_rank < 0)
            continue;
        int64_t *of = &told[member->job_rank];
        if (*of >= 0 && *of != member->declared_rank &&
            join_add_conflict(work, member->process, *of, member->declared_rank, error))
            return -1;
        *of = *of < 0 ? member->declared_rank : *of;
    }
    return 0;
}

/* If several ranks of a run declare the same global rank, only the first has it. */
static int refuse_doubles(struct work *work, int64_t *told, struct error *error)
{
    struct map taken;
    map_init(&taken);
    int failed = 0, added;
    for (size_t i = 0; i < work->rank_count && !failed; i++) {
        if (told[i] < 0)
            continue;
        struct map_key key = {{(uint64_t)work->ranks[i].run, (uint64_t)told[i]}};
        if (!map_put(&taken, key, 1, &added))
            failed = error_no_memory(error);
        else if (!added) {
            failed = join_add_conflict(work, work->ranks[i].process, -1, told[i], error);
            told[i] = -1;
        }
    }
    map_release(&taken);
    return failed;
}

/* A run uses declared ranks if all its ranks have one. */
static void mark_runs(struct work *work, const int64_t *told)
{
    for (size_t i = 0; i < work->rank_count; i++)
        work->runs[work->ranks[i].run].is_told = 1;
    for (size_t i = 0; i < work->rank_count; i++)
        work->runs[work->ranks[i].run].is_told &= told[i] >= 0;
}

static int take_rank(struct work *work, struct work_rank *rank, int64_t told, struct error *error)
{
    const struct work_run *run = &work->runs[rank->run];
    int64_t derived = rank->global_rank;
    int64_t kept = run->is_told || run->world < 0 ? told : derived;
    rank->global_rank = kept;
    if (derived < 0 || derived == told)
        return 0;
    return join_add_conflict(work, rank->process, kept, kept == told ? derived : told, error);
}

int work_take_declared_ranks(struct work *work, struct error *error)
{
    int64_t *told = array_new(work->rank_count, sizeof *told);
    int failed = !told || take_process_ranks(work, told) ? error_no_memory(error) : 0;
    failed = failed || take_member_ranks(work, told, error) || refuse_doubles(work, told, error);
    if (!failed)
        mark_runs(work, told);
    for (size_t i = 0; !failed && i < work->rank_count; i++)
        if (told[i] >= 0)
            failed = take_rank(work, &work->ranks[i], told[i], error);
    free(told);
    return failed ? -1 : 0;
}

/* Global ranks of a run. */
struct global_rank_list {
    int64_t *items; /* owned */
    size_t count;
    size_t capacity;
};

static int add_number(struct global_rank_list *numbers, int64_t number)
{
    if (array_reserve((void **)&numbers->items, &numbers->capacity, numbers->count + 1,
                      sizeof *numbers->items))
        return -1;
    numbers->items[numbers->count++] = number;
    return 0;
}

/*
 * Whether the ranks in the world communicator equal the declared global ranks, so that a free place in it is
 * a rank.
 */
static int counts_by_world(const struct work *work, int32_t world)
{
    if (world < 0 || work->communicators[world].told_count)
        return 0;
    for (size_t i = work->by_communicator.first[world]; i < work->by_communicator.first[world + 1]; i++) {
        const struct work_member *member = &work->members[work->by_communicator.items[i]];
        if (work->ranks[member->job_rank].global_rank != member->rank)
            return 0;
    }
    return 1;
}

/* How many global ranks a run has, numbered from 0. */
static int64_t declared_job_size(const struct work *work, int32_t run)
{
    int32_t world = work->runs[run].world;
    int64_t size = counts_by_world(work, world) ? work->communicators[world].size : 0;
    for (size_t i = work->ranks_of_run.first[run]; i < work->ranks_of_run.first[run + 1]; i++) {
        int64_t told = work->processes[work->ranks[work->ranks_of_run.items[i]].process].declared_job_size;
        size = told > size ? told : size;
    }
    return size;
}

/*
 * All global ranks that the declared size and the member lists of a run show, ascending, with duplicates. A
 * size above `most` is ignored.
 */
static int list_numbers(const struct work *work, int32_t run, int64_t most, struct global_rank_list *numbers)
{
    int64_t size = declared_job_size(work, run);
    for (int64_t rank = 0; size <= most && rank < size; rank++)
        if (add_number(numbers, rank))
            return -1;
    for (size_t i = 0; i < work->communicator_count; i++) {
        const struct work_communicator *communicator = &work->communicators[i];
        for (size_t j = 0; communicator->run == run && j < communicator->told_count; j++)
            if (add_number(numbers, communicator->told[j]))
                return -1;
    }
    sort_integers(numbers->items, numbers->count);
    return 0;
}

/* Removes duplicates, and the ranks that recorded something. Both lists are ascending. */
static void leave_silent(struct global_rank_list *numbers, const struct global_rank_list *recorded)
{
    size_t kept = 0, at = 0;
    for (size_t i = 0; i < numbers->count; i++) {
        int64_t number = numbers->items[i];
        while (at < recorded->count && recorded->items[at] < number)
            at++;
        int is_recorded = at < recorded->count && recorded->items[at] == number;
        if (!is_recorded && (kept == 0 || numbers->items[kept - 1] != number))
            numbers->items[kept++] = number;
    }
    numbers->count = kept;
}

static struct map_key place_key(int32_t run, int64_t rank)
{
    return (struct map_key){{(uint64_t)run, (uint64_t)rank}};
}

int work_list_unplaced(const struct work *work, struct map *unplaced, struct error *error)
{
    const struct grouping *members = &work->by_process;
    for (size_t i = 0; i < work->process_count; i++) {
        const struct work_process *process = &work->processes[i];
        if (process->declared_rank >= 0 && members->first[i] == members->first[i + 1] &&
            !map_put(unplaced, place_key(process->run, process->declared_rank), (int64_t)i, NULL))
            return error_no_memory(error);
    }
    return 0;
}

static int add_silent(struct work *work, int32_t run, const struct map *unplaced,
                      const struct global_rank_list *silent)
{
    for (size_t i = 0; silent->count <= MOST_SILENT_RANKS && i < silent->count; i++) {
        const int64_t *process = map_get(unplaced, place_key(run, silent->items[i]));
        int64_t at = work_add_rank(work, run, process ? (int32_t)*process : -1);
        if (at < 0)
            return -1;
        work->ranks[at].global_rank = silent->items[i];
    }
    return 0;
}

int work_add_silent_ranks(struct work *work, int32_t run, const struct map *unplaced, struct error *error)
{
    struct global_rank_list recorded = {0}, silent = {0};
    int64_t ranks = (int64_t)(work->ranks_of_run.first[run + 1] - work->ranks_of_run.first[run]);
    int32_t world = work->runs[run].world;
    int64_t world_size = world >= 0 ? work->communicators[world].size : 0;
    int failed = 0;
    for (size_t i = work->ranks_of_run.first[run]; !failed && i < work->ranks_of_run.first[run + 1]; i++)
        failed = add_number(&recorded, work->ranks[work->ranks_of_run.items[i]].global_rank);
    failed = failed || list_numbers(work, run, ranks + MOST_SILENT_RANKS, &silent);
    if (!failed) {
        int64_t size = declared_job_size(work, run);
        sort_integers(recorded.items, recorded.count);
        leave_silent(&silent, &recorded);
        failed = add_silent(work, run, unplaced, &silent);
        ranks += (int64_t)silent.count;
        size = world_size > size ? world_size : size;
        work->runs[run].expected_ranks = size > ranks ? size : ranks;
    }
    free(recorded.items);
    free(silent.items);
    return failed ? error_no_memory(error) : 0;
}

enum { SEVERAL = -1, NOBODY = -1 };

/* Processes by directory and declared global rank. */
struct told {
    struct intern sets;
    struct map processes;
    unsigned char *is_used; /* owned; for each communicator: some operation of it is recorded */
    struct map
        /*
         * (communicator, directory) -> one of the processes in its list there, all of which are united;
         * NOBODY
         */
        united;
};

static struct map_key key_of(int64_t set, int64_t rank)
{
    return (struct map_key){{(uint64_t)set, (uint64_t)rank}};
}

/*
 * If a process has neither host nor process id, its file set is a file; then the directory of that file is
 * used.
 */
static int64_t set_of(struct told *told, const struct work_process *process)
{
    const char *slash = process->pid < 0 && !*process->host ? strrchr(process->file_set, '/') : NULL;
    size_t length = slash ? (size_t)(slash - process->file_set) : strlen(process->file_set);
    return intern_put(&told->sets, process->file_set, length);
}

/*
 * The global rank that is declared for a process, or for its only member if no operation of that communicator
 * is recorded; -1: none.
 */
static int64_t told_rank_of(const struct told *told, const struct work *work, size_t process)
{
    const struct grouping *members = &work->by_process;
    const struct work_process *of = &work->processes[process];
    if (of->declared_rank >= 0 || members->first[process + 1] - members->first[process] != 1)
        return of->declared_rank;
    const struct work_member *member = &work->members[members->items[members->first[process]]];
    return told->is_used[member->communicator] ? -1 : member->declared_rank;
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

/* Unites the processes of a communicator's list. Returns one of them; NOBODY: there are none. */
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

/* All members of a communicator have the same list, so it is used only once. */
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

int work_unite_declared(const struct work *work, int32_t *parent, struct error *error)
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

int32_t shared_turn(const struct shared_communicators *shared, int32_t communicator)
{
    for (size_t i = 0; i < shared->count; i++)
        if (shared->items[i] == communicator)
            return (int32_t)i;
    return -1;
}

struct candidate {
    const struct communicator_life *life;
    int32_t communicator;
    int32_t member_count;
    uint64_t hash;
};

/*
 * Largest first; of equal size, smaller hash first, so that the order in which files were read does not
 * matter.
 */
static int by_width(const void *a, const void *b)
{
    const struct candidate *left = a, *right = b;
    if (left->member_count != right->member_count)
        return left->member_count > right->member_count ? -1 : 1;
    return (left->hash > right->hash) - (left->hash < right->hash);
}

static int by_life(const void *a, const void *b)
{
    const struct candidate *left = a, *right = b;
    return (left->life->first_used > right->life->first_used) -
           (left->life->first_used < right->life->first_used);
}

static int is_apart(const struct candidate *chosen, size_t count, const struct candidate *candidate)
{
    for (size_t i = 0; i < count; i++)
        if (candidate->life->first_used <= chosen[i].life->last_used &&
            chosen[i].life->first_used <= candidate->life->last_used)
            return 0;
    return 1;
}

/*
 * The communicators of a rank that may be shared by all, `first` in front if it is one of them. Returns how
 * many.
 */
static size_t list_candidates(const struct work *work, int32_t rank, const struct communicator_life *lives,
                              int32_t first, struct candidate *candidates)
{
    const struct grouping *of = &work->by_rank;
    size_t begin = of->first[rank], count = 0;
    for (size_t i = 0; i < of->first[rank + 1] - begin; i++) {
        int32_t number = work->members[of->items[begin + i]].communicator;
        const struct work_communicator *communicator = &work->communicators[number];
        if (lives[i].last_used == INT64_MAX || communicator->hash == 0 ||
            communicator->member_count * 2 <= work->communicators[first].member_count)
            continue;
        candidates[count++] =
            (struct candidate){.life = &lives[i],
                               .communicator = number,
                               .member_count = number == first ? INT32_MAX : communicator->member_count,
                               .hash = (uint64_t)communicator->hash};
    }
    array_sort(candidates, count, sizeof *candidates, by_width);
    return count;
}

int shared_list(struct shared_communicators *shared, const struct work *work, int32_t rank,
                const struct communicator_life *lives, int32_t first)
{
    size_t members = work->by_rank.first[rank + 1] - work->by_rank.first[rank], chosen = 0;
    struct candidate *candidates = array_new(members, sizeof *candidates);
    if (!candidates)
        return -1;
    size_t count = list_candidates(work, rank, lives, first, candidates);
    int has_first = count && candidates[0].communicator == first;
    for (size_t i = 0; has_first && i < count && chosen < MOST_SHARED; i++)
        if (is_apart(candidates, chosen, &candidates[i]))
            candidates[chosen++] = candidates[i];
    array_sort(candidates, chosen, sizeof *candidates, by_life);
    shared->items[0] = first;
    shared->count = has_first ? chosen : 1;
    for (size_t i = 0; i < chosen; i++)
        shared->items[i] = candidates[i].communicator;
    free(candidates);
    return 0;
}

int32_t shared_widest(const struct work *work, int32_t rank, const struct communicator_life *lives)
{
    int32_t widest = -1;
    for (size_t at = work->by_rank.first[rank], i = 0; at < work->by_rank.first[rank + 1]; at++, i++) {
        int32_t number = work->members[work->by_rank.items[at]].communicator;
        const struct work_communicator *here = &work->communicators[number];
        const struct work_communicator *best = widest < 0 ? NULL : &work->communicators[widest];
        if (lives[i].last_used == INT64_MAX || here->hash == 0)
            continue;
        if (!best || here->member_count > best->member_count ||
            (here->member_count == best->member_count && (uint64_t)here->hash < (uint64_t)best->hash))
            widest = number;
    }
    return widest;
}

int communicators_cover_run(const struct shared_communicators *shared, const struct work *work, int32_t run,
                            int *hold)
{
    unsigned char *held = array_new(work->rank_count, 1);
    if (!held)
        return -1;
    for (size_t i = 0; i < shared->count; i++)
        for (size_t at = work->by_communicator.first[shared->items[i]];
             at < work->by_communicator.first[shared->items[i] + 1]; at++)
            held[work->members[work->by_communicator.items[at]].job_rank] = 1;
    *hold = 1;
    for (size_t at = work->ranks_of_run.first[run]; at < work->ranks_of_run.first[run + 1]; at++) {
        int32_t rank = work->ranks_of_run.items[at];
        *hold &= held[rank] || work->by_rank.first[rank] == work->by_rank.first[rank + 1];
    }
    free(held);
    return 0;
}

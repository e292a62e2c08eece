#include "join/told_ranks.h"

#include "base/array.h"
#include "base/sort.h"

#include <stdlib.h>

/* What is said of a process is said of its rank, where it drives only one. */
static int tell_of_processes(const struct work *work, int64_t *told)
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
        told[i] = rank_of[process] < 0 ? work->processes[process].told_rank : -1;
        if (rank_of[process] >= 0)
            told[rank_of[process]] = -1;
        rank_of[process] = (int32_t)i;
    }
    free(rank_of);
    return 0;
}

static int tell_of_members(struct work *work, int64_t *told, struct error *error)
{
    for (size_t i = 0; i < work->member_count; i++) {
        const struct work_member *member = &work->members[i];
        if (member->told_rank < 0 || member->job_rank < 0)
            continue;
        int64_t *of = &told[member->job_rank];
        if (*of >= 0 && *of != member->told_rank &&
            work_contradict(work, member->process, *of, member->told_rank, error))
            return -1;
        *of = *of < 0 ? member->told_rank : *of;
    }
    return 0;
}

/* Of several ranks of a run that are told to be one, the first is. */
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
            failed = work_contradict(work, work->ranks[i].process, -1, told[i], error);
            told[i] = -1;
        }
    }
    map_release(&taken);
    return failed;
}

/* A run whose ranks all have their number told, none of them twice, goes by that. */
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
    return work_contradict(work, rank->process, kept, kept == told ? derived : told, error);
}

int work_take_told_ranks(struct work *work, struct error *error)
{
    int64_t *told = array_new(work->rank_count, sizeof *told);
    int failed = !told || tell_of_processes(work, told) ? error_no_memory(error) : 0;
    failed = failed || tell_of_members(work, told, error) || refuse_doubles(work, told, error);
    if (!failed)
        mark_runs(work, told);
    for (size_t i = 0; !failed && i < work->rank_count; i++)
        if (told[i] >= 0)
            failed = take_rank(work, &work->ranks[i], told[i], error);
    free(told);
    return failed ? -1 : 0;
}

/* Global ranks of a run. */
struct numbers {
    int64_t *items; /* owned */
    size_t count;
    size_t capacity;
};

static int add_number(struct numbers *numbers, int64_t number)
{
    if (array_reserve((void **)&numbers->items, &numbers->capacity, numbers->count + 1,
                      sizeof *numbers->items))
        return -1;
    numbers->items[numbers->count++] = number;
    return 0;
}

/* Whether the numbers in the communicator of all are those that are told: a free one is a rank then. */
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

/* How many ranks it has, numbered from 0 on. */
static int64_t told_size(const struct work *work, int32_t run)
{
    int32_t world = work->runs[run].world;
    int64_t size = counts_by_world(work, world) ? work->communicators[world].size : 0;
    for (size_t i = work->ranks_of_run.first[run]; i < work->ranks_of_run.first[run + 1]; i++) {
        int64_t told = work->processes[work->ranks[work->ranks_of_run.items[i]].process].told_size;
        size = told > size ? told : size;
    }
    return size;
}

/* Those that are spoken of, once for each that speaks of one: beyond `most` it is not for us to name them. */
static int list_numbers(const struct work *work, int32_t run, int64_t most, struct numbers *numbers)
{
    int64_t size = told_size(work, run);
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

/* Leaves each once, and out those that recorded something; both are in ascending order. */
static void leave_silent(struct numbers *numbers, const struct numbers *recorded)
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
        if (process->told_rank >= 0 && members->first[i] == members->first[i + 1] &&
            !map_put(unplaced, place_key(process->run, process->told_rank), (int64_t)i, NULL))
            return error_no_memory(error);
    }
    return 0;
}

static int add_silent(struct work *work, int32_t run, const struct map *unplaced,
                      const struct numbers *silent)
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

int work_fill_told(struct work *work, int32_t run, const struct map *unplaced, struct error *error)
{
    struct numbers recorded = {0}, silent = {0};
    int64_t ranks = (int64_t)(work->ranks_of_run.first[run + 1] - work->ranks_of_run.first[run]);
    int32_t world = work->runs[run].world;
    int64_t world_size = world >= 0 ? work->communicators[world].size : 0;
    int failed = 0;
    for (size_t i = work->ranks_of_run.first[run]; !failed && i < work->ranks_of_run.first[run + 1]; i++)
        failed = add_number(&recorded, work->ranks[work->ranks_of_run.items[i]].global_rank);
    failed = failed || list_numbers(work, run, ranks + MOST_SILENT_RANKS, &silent);
    if (!failed) {
        int64_t size = told_size(work, run);
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

/*
 * Finds which process is which rank of which job: runs, ranks, sizes of communicators, the world communicator
 * that gives global ranks, and ranks that recorded nothing. Runs after load.c.
 */
#include "base/base.h"
#include "join/internal.h"

#include <stdlib.h>
#include <string.h>

/*
 * Sizes of communicators, and which one has all ranks of a job (its world). The rank in the world is the
 * global rank.
 */

/* Sets the size of each communicator: declared, else a lower bound from the ranks and peers seen. */
static void work_size_communicators(struct work *work)
{
    for (size_t i = 0; i < work->communicator_count; i++)
        work->communicators[i].size = work->communicators[i].greatest_peer + 1;
    for (size_t i = 0; i < work->member_count; i++) {
        struct work_communicator *communicator = &work->communicators[work->members[i].communicator];
        if (communicator->size <= work->members[i].rank)
            communicator->size = work->members[i].rank + 1;
    }
    for (size_t i = 0; i < work->communicator_count; i++)
        if (work->communicators[i].declared_size > 0)
            work->communicators[i].size = work->communicators[i].declared_size;
}

/* Of equal size, the one with the smaller hash, so that the order of files does not matter. */
static int is_wider(const struct work_communicator *a, const struct work_communicator *b)
{
    return a->size != b->size ? a->size > b->size : (uint64_t)a->hash < (uint64_t)b->hash;
}

/* The number of ranks of a run, and the size of its largest communicator. */
struct breadth {
    int64_t ranks;
    int64_t widest;
};

static struct breadth *measure_runs(const struct work *work)
{
    struct breadth *runs = array_new(work->run_count, sizeof *runs);
    for (size_t i = 0; runs && i < work->rank_count; i++)
        runs[work->ranks[i].run].ranks++;
    for (size_t i = 0; runs && i < work->communicator_count; i++) {
        const struct work_communicator *communicator = &work->communicators[i];
        if (communicator->run >= 0 && communicator->hash != 0 &&
            runs[communicator->run].widest < communicator->size)
            runs[communicator->run].widest = communicator->size;
    }
    return runs;
}

/*
 * Counts the ranks of each run and chooses its world, unless that is settled: the communicator that every
 * rank of the run is in, the largest if there are several. One rank may be missing from it (its file was
 * lost) if exactly one place is free. If another communicator is larger, most files were lost and the rest
 * have no world.
 */
static int work_choose_worlds(struct work *work, struct error *error)
{
    struct breadth *runs = measure_runs(work);
    if (!runs)
        return error_no_memory(error);
    for (size_t i = 0; i < work->communicator_count; i++) {
        const struct work_communicator *communicator = &work->communicators[i];
        if (communicator->run < 0 || communicator->hash == 0)
            continue;
        struct work_run *run = &work->runs[communicator->run];
        if (run->world_is_settled)
            continue;
        int64_t ranks = runs[communicator->run].ranks;
        int covers = communicator->member_count == ranks ||
                     (communicator->member_count == ranks - 1 && communicator->size == ranks && ranks > 2);
        if (covers && communicator->size >= runs[communicator->run].widest &&
            !join_has_unassigned_member(work, i) &&
            (run->world < 0 || is_wider(communicator, &work->communicators[run->world])))
            run->world = (int32_t)i;
    }
    for (size_t i = 0; i < work->run_count; i++) {
        work->runs[i].rank_count = runs[i].ranks;
        work->runs[i].world_is_settled = work->runs[i].world >= 0;
    }
    free(runs);
    return 0;
}

/* The global rank that the member list gives, else the rank itself. */
static int64_t global_rank_in(const struct work_communicator *communicator, int64_t rank)
{
    int is_listed = rank >= 0 && (uint64_t)rank < communicator->told_count;
    return is_listed ? communicator->told[rank] : rank;
}

/* Sets the global ranks of all members of the worlds. */
static void work_take_global_ranks(struct work *work)
{
    for (size_t i = 0; i < work->member_count; i++) {
        const struct work_member *member = &work->members[i];
        const struct work_communicator *communicator = &work->communicators[member->communicator];
        if (communicator->run >= 0 && work->runs[communicator->run].world == member->communicator)
            work->ranks[member->job_rank].global_rank = global_rank_in(communicator, member->rank);
    }
}

/*
 * The world of a communicator's run. NULL: there is none, the hash of the communicator is unknown, or lost
 * files explain all free places in the run.
 */
static struct work_communicator *world_around(struct work *work, const unsigned char *lost,
                                              const struct work_communicator *communicator)
{
    int32_t world = communicator->run < 0 ? -1 : work->runs[communicator->run].world;
    return world < 0 || communicator->hash == 0 || lost[communicator->run] ? NULL
                                                                           : &work->communicators[world];
}

/*
 * If the trace does not record sizes and all ranks seen are in the world, a free place in another
 * communicator is that of a rank with a greater number that recorded nothing, since NCCL does nothing for a
 * communicator of one rank. Communicators divide a world evenly, so one with a free place shows more such
 * ranks if the size of the world is not a multiple of its own.
 */
static void make_room(struct work *work, const unsigned char *lost)
{
    for (size_t i = 0; i < work->communicator_count; i++) {
        struct work_communicator *communicator = &work->communicators[i];
        struct work_communicator *world = world_around(work, lost, communicator);
        if (communicator->size < 2 && communicator->declared_size <= 0 && communicator->hash != 0 &&
            communicator->run >= 0 && work->runs[communicator->run].world >= 0)
            communicator->size = 2;
        if (world && communicator->member_count < communicator->size && world->declared_size <= 0 &&
            world->member_count == world->size)
            world->size++;
    }
    for (size_t i = 0; i < work->communicator_count; i++) {
        const struct work_communicator *communicator = &work->communicators[i];
        struct work_communicator *world = world_around(work, lost, communicator);
        if (!world || communicator->member_count >= communicator->size ||
            communicator->size > MOST_SILENT_RANKS)
            continue;
        int64_t beyond = world->size % communicator->size;
        if (world->declared_size <= 0 && beyond > 0 && world->size < INT64_MAX - MOST_SILENT_RANKS)
            world->size += communicator->size - beyond;
    }
}

/*
 * The ranks of a communicator have ascending global ranks in all traces seen so far. So ranks after its last
 * member have greater global ranks than that one. This can show more ranks without records than the gaps in
 * the world do.
 */
static int make_room_above(struct work *work, const unsigned char *lost, struct error *error)
{
    int32_t *last = array_new(work->communicator_count, sizeof *last);
    if (!last)
        return error_no_memory(error);
    for (size_t i = 0; i < work->communicator_count; i++)
        last[i] = -1;
    for (size_t i = 0; i < work->member_count; i++) {
        int32_t *here = &last[work->members[i].communicator];
        if (*here < 0 || work->members[*here].rank < work->members[i].rank)
            *here = (int32_t)i;
    }
    for (size_t i = 0; i < work->communicator_count; i++) {
        const struct work_communicator *communicator = &work->communicators[i];
        struct work_communicator *world = world_around(work, lost, communicator);
        if (last[i] < 0 || !world || world->declared_size > 0 || world->member_count == world->size)
            continue;
        int64_t above = communicator->size - 1 - work->members[last[i]].rank;
        int64_t greatest = work->ranks[work->members[last[i]].job_rank].global_rank;
        if (above > 0 && above < MOST_SILENT_RANKS && greatest >= 0 &&
            greatest < INT64_MAX - MOST_SILENT_RANKS && greatest + above >= world->size)
            world->size = greatest + above + 1;
    }
    free(last);
    return 0;
}

/*
 * Fills the free places of the world: one with the rank that has no place, if any, the others with ranks that
 * recorded nothing. If far more places than recorded ranks are free, they stay empty, because cost must be in
 * proportion to what a trace contains, not to what it claims.
 */
static int fill_world(struct work *work, int32_t run, struct error *error)
{
    const struct work_communicator *world = &work->communicators[work->runs[run].world];
    if (world->size > work->runs[run].rank_count + MOST_SILENT_RANKS)
        return 0;
    unsigned char *taken = array_new((size_t)world->size, 1);
    if (!taken)
        return error_no_memory(error);
    int64_t rank_without_place = -1;
    for (size_t i = work->ranks_of_run.first[run]; i < work->ranks_of_run.first[run + 1]; i++) {
        int32_t number = work->ranks_of_run.items[i];
        if (work->ranks[number].global_rank >= 0 && work->ranks[number].global_rank < world->size)
            taken[work->ranks[number].global_rank] = 1;
        else
            rank_without_place = number;
    }
    for (int64_t rank = 0; rank < world->size; rank++) {
        if (taken[rank])
            continue;
        int64_t at = rank_without_place >= 0 ? rank_without_place : work_add_rank(work, run, -1);
        rank_without_place = -1;
        if (at < 0) {
            free(taken);
            return error_no_memory(error);
        }
        work->ranks[at].global_rank = rank;
    }
    free(taken);
    return 0;
}

/* Enlarges worlds if free places in other communicators show ranks that recorded nothing. */
static int work_make_room(struct work *work, struct error *error)
{
    unsigned char *lost = work_find_lost_files(work);
    if (!lost)
        return error_no_memory(error);
    make_room(work, lost);
    int failed = make_room_above(work, lost, error);
    free(lost);
    return failed;
}

static int fill_run(struct work *work, int32_t number, const struct map *unplaced, struct error *error)
{
    struct work_run *run = &work->runs[number];
    if (run->is_told)
        return work_add_silent_ranks(work, number, unplaced, error);
    if (run->world >= 0 && fill_world(work, number, error))
        return -1;
    run->expected_ranks = run->world >= 0 ? work->communicators[run->world].size : run->rank_count;
    return 0;
}

/* Adds the ranks that recorded nothing. Ranks must be grouped by run. */
static int work_fill_worlds(struct work *work, struct error *error)
{
    struct map unplaced;
    map_init(&unplaced);
    int failed = work_list_unplaced(work, &unplaced, error);
    for (size_t i = 0; !failed && i < work->run_count; i++)
        failed = fill_run(work, (int32_t)i, &unplaced, error);
    map_release(&unplaced);
    return failed ? -1 : 0;
}

/*
 * Which process is which rank of which job. Processes that share a communicator, directly or through others,
 * are one job (a run). A process is one rank of its job, unless it is several times in one communicator; then
 * each of its members there is a rank.
 */

/*
 * Unites processes whose communicators have no hash, so that it is unknown which they share: all those in one
 * directory are taken for one job.
 */
static int unite_unhashed(const struct work *work, int32_t *parent, struct error *error)
{
    int32_t *first = array_new(work->process_count, sizeof *first); /* first process of each directory */
    struct intern sets;
    int failed = !first;
    intern_init(&sets);
    for (size_t i = 0; !failed && i < work->member_count; i++) {
        const struct work_member *member = &work->members[i];
        if (work->communicators[member->communicator].hash != 0)
            continue;
        const char *file_set = work->processes[member->process].file_set;
        size_t known = sets.count;
        int64_t set = intern_put(&sets, file_set, strlen(file_set));
        failed = set < 0;
        if (failed)
            break;
        if (sets.count > known)
            first[set] = member->process;
        disjoint_unite(parent, first[set], member->process);
    }
    intern_release(&sets);
    free(first);
    return failed ? error_no_memory(error) : 0;
}

/*
 * Runs are numbered in the order of the files that were added first, not in the order in which files were
 * read.
 */
struct arrival {
    int64_t file;
    int32_t process;
};

static int by_file(const void *a, const void *b)
{
    const struct arrival *left = a, *right = b;
    if (left->file != right->file)
        return left->file < right->file ? -1 : 1;
    return (left->process > right->process) - (left->process < right->process);
}

static void number_in_order(struct work *work, int32_t *parent, struct arrival *order, int32_t *run_of_root)
{
    for (size_t i = 0; i < work->process_count; i++) {
        order[i] = (struct arrival){work->processes[i].first_file, (int32_t)i};
        run_of_root[i] = -1;
    }
    array_sort(order, work->process_count, sizeof *order, by_file);
    for (size_t i = 0; i < work->process_count; i++) {
        int32_t *run = &run_of_root[disjoint_root(parent, order[i].process)];
        if (*run < 0) {
            *run = (int32_t)work->run_count;
            work->runs[work->run_count++] = (struct work_run){.world = -1, .step_source = STEPS_NONE};
        }
        work->processes[order[i].process].run = *run;
    }
}

static int number_runs(struct work *work, int32_t *parent, struct error *error)
{
    int32_t *run_of_root = array_new(work->process_count, sizeof *run_of_root);
    struct arrival *order = array_new(work->process_count, sizeof *order);
    work->runs = array_new(work->process_count, sizeof *work->runs);
    int failed = !run_of_root || !order || !work->runs;
    if (!failed)
        number_in_order(work, parent, order, run_of_root);
    free(run_of_root);
    free(order);
    return failed ? error_no_memory(error) : 0;
}

static int find_runs(struct work *work, struct error *error)
{
    int32_t *parent = array_new(work->process_count, sizeof *parent);
    int32_t *process_of_communicator = array_new(work->communicator_count, sizeof *process_of_communicator);
    int failed = -1;
    if (!parent || !process_of_communicator) {
        error_no_memory(error);
        goto out;
    }
    disjoint_init(parent, work->process_count);
    for (size_t i = 0; i < work->communicator_count; i++)
        process_of_communicator[i] = -1;
    for (size_t i = 0; i < work->member_count; i++) {
        int32_t *seen = &process_of_communicator[work->members[i].communicator];
        if (*seen >= 0)
            disjoint_unite(parent, *seen, work->members[i].process);
        *seen = work->members[i].process;
    }
    failed = unite_unhashed(work, parent, error) || work_unite_declared(work, parent, error) ||
                     number_runs(work, parent, error)
                 ? -1
                 : 0;
    for (size_t i = 0; !failed && i < work->member_count; i++)
        work->communicators[work->members[i].communicator].run =
            work->processes[work->members[i].process].run;
out:
    free(parent);
    free(process_of_communicator);
    return failed;
}

/* Marks processes that are more than once in one communicator with a hash. */
static int find_shared_processes(const struct work *work, unsigned char *shared, struct error *error)
{
    struct map seen;
    map_init(&seen);
    for (size_t i = 0; i < work->member_count; i++) {
        const struct work_member *member = &work->members[i];
        if (work->communicators[member->communicator].hash == 0)
            continue;
        struct map_key key = {{(uint64_t)member->communicator, (uint64_t)member->process}};
        int added;
        if (!map_put(&seen, key, 1, &added)) {
            map_release(&seen);
            return error_no_memory(error);
        }
        if (!added)
            shared[member->process] = 1;
    }
    map_release(&seen);
    return 0;
}

/* Makes one rank for each process, or several ranks for a process marked in `shared`. */
static int make_ranks(struct work *work, const unsigned char *shared, struct error *error)
{
    int32_t *rank_of = array_new(work->process_count, sizeof *rank_of);
    if (!rank_of)
        return error_no_memory(error);
    int failed = 0;
    for (size_t i = 0; !failed && i < work->process_count; i++) {
        rank_of[i] = -1;
        if (shared[i])
            failed = work_split_process(work, (int32_t)i);
    }
    for (size_t i = 0; !failed && i < work->member_count; i++) {
        struct work_member *member = &work->members[i];
        if (shared[member->process])
            continue;
        if (rank_of[member->process] < 0)
            rank_of[member->process] =
                (int32_t)work_add_rank(work, work->processes[member->process].run, member->process);
        member->job_rank = rank_of[member->process];
        failed = member->job_rank < 0;
    }
    free(rank_of);
    return failed ? error_no_memory(error) : 0;
}

int work_find_ranks(struct work *work, struct error *error)
{
    unsigned char *shared = array_new(work->process_count, 1);
    if (!shared)
        return error_no_memory(error);
    int failed = work_group_members(work, error) || find_runs(work, error) ||
                 find_shared_processes(work, shared, error) || make_ranks(work, shared, error);
    work_size_communicators(work);
    if (!failed)
        failed = work_choose_worlds(work, error);
    if (!failed) {
        work_take_global_ranks(work);
        failed = work_place_members(work) ? error_no_memory(error) : work_place_alike(work, shared, error);
    }
    free(shared);
    if (failed || work_choose_worlds(work, error))
        return -1;
    work_take_global_ranks(work);
    if (work_take_declared_ranks(work, error))
        return -1;
    return work_make_room(work, error) || work_group_ranks(work, error) || work_fill_worlds(work, error) ||
                   work_label(work, error)
               ? -1
               : 0;
}

#include "join/worlds.h"

#include "base/array.h"
#include "join/lost_files.h"
#include "join/split_by_shape.h"
#include "join/told_ranks.h"

#include <stdlib.h>

/*
 * How large communicators are, and which one holds all ranks of a job (its world): a rank's number there is
 * its global one.
 */

void work_size_communicators(struct work *work)
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

/* Of two of a size the one of the lesser hash: the order of reading says nothing. */
static int is_wider(const struct work_communicator *a, const struct work_communicator *b)
{
    return a->size != b->size ? a->size > b->size : (uint64_t)a->hash < (uint64_t)b->hash;
}

/* Ranks of each run, and the size of its widest communicator. Owned by the caller; NULL: out of memory. */
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
 * The communicator that every rank of the run is in; the greatest, where several are. One rank may be missing
 * from it (its file was lost) when the numbers leave exactly one place for it. Where another is wider, most
 * files were lost, and those left share no world.
 */
int work_choose_worlds(struct work *work, struct error *error)
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
        if (covers && communicator->size >= runs[communicator->run].widest && !work_has_homeless(work, i) &&
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

/* As its members are listed, else its own number. */
static int64_t global_rank_in(const struct work_communicator *communicator, int64_t rank)
{
    int is_listed = rank >= 0 && (uint64_t)rank < communicator->told_count;
    return is_listed ? communicator->told[rank] : rank;
}

void work_take_global_ranks(struct work *work)
{
    for (size_t i = 0; i < work->member_count; i++) {
        const struct work_member *member = &work->members[i];
        const struct work_communicator *communicator = &work->communicators[member->communicator];
        if (communicator->run >= 0 && work->runs[communicator->run].world == member->communicator)
            work->ranks[member->job_rank].global_rank = global_rank_in(communicator, member->rank);
    }
}

/*
 * The communicator of all ranks of its run; NULL where there is none, its own hash is not known, or files
 * that were lost explain all places left in the run's.
 */
static struct work_communicator *world_around(struct work *work, const unsigned char *lost,
                                              const struct work_communicator *communicator)
{
    int32_t world = communicator->run < 0 ? -1 : work->runs[communicator->run].world;
    return world < 0 || communicator->hash == 0 || lost[communicator->run] ? NULL
                                                                           : &work->communicators[world];
}

/*
 * Where the trace does not say how large communicators are, and everybody seen is in the world, a place left
 * in another communicator is that of a rank with a greater number, of which nothing was recorded: NCCL runs
 * nothing for a communicator of one rank. Communicators divide a world evenly: one with a place left tells of
 * more such ranks where the world is no multiple of it.
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
 * Ranks of a communicator have ascending global ranks, as far as anybody has seen: those of the places above
 * its last member's are greater than that one's. This tells of more silent ranks than the gaps of the world.
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
 * Fills the places of the world that nobody took: with the one rank left over, else with silent ranks. Where
 * next to nobody spoke they stay empty: what a trace costs us is in proportion to what it holds, not to what
 * it claims.
 */
static int fill_world(struct work *work, int32_t run, struct error *error)
{
    const struct work_communicator *world = &work->communicators[work->runs[run].world];
    if (world->size > work->runs[run].rank_count + MOST_SILENT_RANKS)
        return 0;
    unsigned char *taken = array_new((size_t)world->size, 1);
    if (!taken)
        return error_no_memory(error);
    int64_t homeless = -1;
    for (size_t i = work->ranks_of_run.first[run]; i < work->ranks_of_run.first[run + 1]; i++) {
        int32_t number = work->ranks_of_run.items[i];
        if (work->ranks[number].global_rank >= 0 && work->ranks[number].global_rank < world->size)
            taken[work->ranks[number].global_rank] = 1;
        else
            homeless = number;
    }
    for (int64_t rank = 0; rank < world->size; rank++) {
        if (taken[rank])
            continue;
        int64_t at = homeless >= 0 ? homeless : work_add_rank(work, run, -1);
        homeless = -1;
        if (at < 0) {
            free(taken);
            return error_no_memory(error);
        }
        work->ranks[at].global_rank = rank;
    }
    free(taken);
    return 0;
}

int work_make_room(struct work *work, struct error *error)
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
        return work_fill_told(work, number, unplaced, error);
    if (run->world >= 0 && fill_world(work, number, error))
        return -1;
    run->expected_ranks = run->world >= 0 ? work->communicators[run->world].size : run->rank_count;
    return 0;
}

int work_fill_worlds(struct work *work, struct error *error)
{
    struct map unplaced;
    map_init(&unplaced);
    int failed = work_list_unplaced(work, &unplaced, error);
    for (size_t i = 0; !failed && i < work->run_count; i++)
        failed = fill_run(work, (int32_t)i, &unplaced, error);
    map_release(&unplaced);
    return failed ? -1 : 0;
}

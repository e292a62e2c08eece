#include "join/ranks.h"

#include "base/array.h"
#include "base/disjoint.h"
#include "base/map.h"
#include "join/labels.h"
#include "join/split_by_clock.h"
#include "join/split_by_number.h"
#include "join/split_by_shape.h"
#include "join/told_members.h"
#include "join/told_ranks.h"
#include "join/worlds.h"

#include <stdlib.h>
#include <string.h>

/*
 * Which process is which rank of which job. Processes that share a communicator, directly or through others,
 * are one job (a run). A process is one rank of its job, unless it appears several times in one communicator:
 * then each of its ranks counts as one.
 */

/*
 * Files whose communicators have no hash show no sharing. All that one directory holds of them is taken for
 * one job.
 */
static int unite_unhashed(const struct work *work, int32_t *parent, struct error *error)
{
    int32_t *first = array_new(work->process_count, sizeof *first); /* of each set */
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

/* Processes by the files that came first: of these, not of who was read first, the numbers of runs tell. */
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
    failed = unite_unhashed(work, parent, error) || work_unite_told(work, parent, error) ||
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

/* Marks the processes that appear more than once in one (hashed) communicator. */
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

/* A rank for every process that is one, and as many as can be told for the others. */
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
    if (work_take_told_ranks(work, error))
        return -1;
    return work_make_room(work, error) || work_group_ranks(work, error) || work_fill_worlds(work, error) ||
                   work_label(work, error)
               ? -1
               : 0;
}

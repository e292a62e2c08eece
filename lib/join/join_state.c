/*
 * The memory of the join (struct work): allocation, grouping of members, ranks and communicators, counters of
 * operations without numbers; and the worker threads that the join runs its pieces on.
 */
#include "base/base.h"
#include "join/internal.h"
#include "model/model.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct numbers *numbers_new(void)
{
    struct numbers *numbers = calloc(1, sizeof *numbers);
    if (numbers)
        map_init(&numbers->pairs);
    return numbers;
}

void numbers_free(struct numbers *numbers)
{
    if (numbers)
        map_release(&numbers->pairs);
    free(numbers);
}

int64_t numbers_next(const struct numbers *first, struct numbers *counted, int function, int32_t peer)
{
    if (!function_is_point_to_point((enum function)function))
        return function >= 0 && function < FUNCTION_COUNT
                   ? first->collectives[function] + counted->collectives[function]++
                   : 0;
    struct map_key key = {{(uint64_t)function, (uint64_t)peer}};
    const int64_t *before = map_get(&first->pairs, key);
    int64_t *count = map_put(&counted->pairs, key, 0, NULL);
    return count ? first->most_pairs - (before ? *before : 0) + (*count)++ : -1;
}

typedef int32_t (*group_lookup)(const struct work *work, size_t item);

static void work_grouping_release(struct grouping *grouping);

static int32_t rank_of_member(const struct work *work, size_t item)
{
    return work->members[item].job_rank;
}

static int32_t communicator_of_member(const struct work *work, size_t item)
{
    return work->members[item].communicator;
}

static int32_t process_of_member(const struct work *work, size_t item)
{
    return work->members[item].process;
}

static int32_t run_of_rank(const struct work *work, size_t item)
{
    return work->ranks[item].run;
}

static int32_t run_of_communicator(const struct work *work, size_t item)
{
    return work->communicators[item].run;
}

/* A counting sort: items of one group keep their order; items of group -1 are left out. */
static int group(const struct work *work, size_t items, size_t groups, group_lookup group_of,
                 struct grouping *grouping, struct error *error)
{
    work_grouping_release(grouping);
    size_t *next = array_new(groups + 1, sizeof *next);
    grouping->first = array_new(groups + 1, sizeof *grouping->first);
    grouping->items = array_new(items, sizeof *grouping->items);
    if (!next || !grouping->first || !grouping->items) {
        free(next);
        return error_no_memory(error);
    }
    for (size_t i = 0; i < items; i++)
        if (group_of(work, i) >= 0)
            grouping->first[group_of(work, i) + 1]++;
    for (size_t i = 0; i < groups; i++)
        next[i + 1] = grouping->first[i + 1] += grouping->first[i];
    for (size_t i = 0; i < items; i++)
        if (group_of(work, i) >= 0)
            grouping->items[next[group_of(work, i)]++] = (int32_t)i;
    free(next);
    return 0;
}

static void work_grouping_release(struct grouping *grouping)
{
    free(grouping->items);
    free(grouping->first);
    *grouping = (struct grouping){0};
}

int work_group_members(struct work *work, struct error *error)
{
    return group(work, work->member_count, work->process_count, process_of_member, &work->by_process,
                 error) ||
                   group(work, work->member_count, work->communicator_count, communicator_of_member,
                         &work->by_communicator, error)
               ? -1
               : 0;
}

int work_group_ranks(struct work *work, struct error *error)
{
    return group(work, work->rank_count, work->run_count, run_of_rank, &work->ranks_of_run, error);
}

int work_group_joined(struct work *work, struct error *error)
{
    return group(work, work->member_count, work->rank_count, rank_of_member, &work->by_rank, error) ||
                   work_group_ranks(work, error) ||
                   group(work, work->communicator_count, work->run_count, run_of_communicator,
                         &work->communicators_of_run, error)
               ? -1
               : 0;
}

int join_add_conflict(struct work *work, int32_t process, int64_t kept, int64_t other, struct error *error)
{
    if (array_reserve((void **)&work->contradictions, &work->contradiction_capacity,
                      work->contradiction_count + 1, sizeof *work->contradictions))
        return error_no_memory(error);
    work->contradictions[work->contradiction_count++] = (struct work_contradiction){process, kept, other};
    return 0;
}

int64_t work_add_rank(struct work *work, int32_t run, int32_t process)
{
    if (array_reserve((void **)&work->ranks, &work->rank_capacity, work->rank_count + 1, sizeof *work->ranks))
        return -1;
    work->ranks[work->rank_count] = (struct work_rank){.run = run, .process = process, .global_rank = -1};
    return (int64_t)work->rank_count++;
}

void work_release(struct work *work)
{
    for (size_t i = 0; i < work->process_count; i++) {
        free(work->processes[i].file_set);
        free(work->processes[i].host);
    }
    for (size_t i = 0; i < work->communicator_count; i++) {
        free(work->communicators[i].name);
        free(work->communicators[i].path);
        free(work->communicators[i].label);
        free(work->communicators[i].told);
    }
    for (size_t i = 0; i < work->rank_count; i++)
        free(work->ranks[i].name);
    for (size_t i = 0; i < work->member_count; i++)
        numbers_free(work->members[i].first_numbers);
    free(work->processes);
    free(work->communicators);
    free(work->members);
    free(work->marks);
    free(work->contradictions);
    map_release(&work->tag_names);
    free(work->ranks);
    free(work->runs);
    work_grouping_release(&work->by_rank);
    work_grouping_release(&work->by_communicator);
    work_grouping_release(&work->by_process);
    work_grouping_release(&work->ranks_of_run);
    work_grouping_release(&work->communicators_of_run);
    intern_release(&work->run_names);
    intern_release(&work->texts);
}

static int init_worker(struct worker_pool *pool, const struct work *work, struct error *error)
{
    struct pool_worker *worker = &pool->items[pool->count++];
    worker->work = *work;
    worker->work.marks = NULL;
    worker->work.mark_count = worker->work.mark_capacity = 0;
    worker->work.marked_process = 0;
    map_init(&worker->work.tag_names);
    intern_init(&worker->work.texts);
    return blocks_init(&worker->blocks, pool->store, &pool->inside, &worker->work.texts, error);
}

int worker_pool_init(struct worker_pool *pool, const struct work *work, struct store *store, size_t count,
                     struct error *error)
{
    *pool = (struct worker_pool){.store = store, .items = array_new(count, sizeof *pool->items)};
    pthread_mutex_init(&pool->inside, NULL);
    if (!pool->items)
        return error_no_memory(error);
    for (size_t i = 0; i < count; i++)
        if (init_worker(pool, work, error))
            return -1;
    return 0;
}

void worker_pool_release(struct worker_pool *pool)
{
    for (size_t i = 0; i < pool->count; i++) {
        blocks_release(&pool->items[i].blocks);
        intern_release(&pool->items[i].work.texts);
        free(pool->items[i].work.marks);
        map_release(&pool->items[i].work.tag_names);
    }
    pthread_mutex_destroy(&pool->inside);
    free(pool->items);
}

/* Pieces of work, and whether one failed. */
struct pile {
    struct worker_pool *worker_pool;
    worker_task piece;
    void *context;
    pthread_mutex_t mutex; /* protects the following fields */
    int failed;
    struct error error; /* of the first piece that failed */
};

static void tell_failure(struct pile *pile, const struct error *error)
{
    pthread_mutex_lock(&pile->mutex);
    if (!pile->failed)
        pile->error = *error;
    pile->failed = 1;
    pthread_mutex_unlock(&pile->mutex);
}

static int run_worker(void *context, size_t worker, size_t first, size_t end)
{
    struct pile *pile = context;
    for (size_t number = first; number < end; number++) {
        struct error error = ERROR_INIT;
        if (pile->piece(pile->context, &pile->worker_pool->items[worker], number, &error)) {
            tell_failure(pile, &error);
            return -1;
        }
    }
    return 0;
}

int worker_pool_run(struct worker_pool *pool, worker_task piece, void *context, size_t count,
                    struct error *error)
{
    struct pile pile = {.worker_pool = pool, .piece = piece, .context = context, .error = ERROR_INIT};
    pthread_mutex_init(&pile.mutex, NULL);
    int failed = parallel_for(count, 1, pool->count, run_worker, &pile);
    pthread_mutex_destroy(&pile.mutex);
    if (pile.failed && error)
        *error = pile.error;
    return failed && !pile.failed ? error_no_memory(error) : failed;
}

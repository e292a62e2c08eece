/*
 * Joins the operations of a store across ranks: undoes earlier corrections of runs that changed, corrects
 * logs, finds ranks and runs, unites recorders, then numbers and joins the operations of each changed run, in
 * one transaction.
 */
#include "join/join.h"
#include "base/base.h"
#include "join/internal.h"
#include "join/logs.h"
#include "join/recorders.h"
#include "store/store.h"

#include "schemas.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/*
 * A run is joined again if files of one of its processes were added or removed, or if nothing is known about
 * its steps from before. The earlier results for the operations of other runs stay.
 */

static int read_changed(struct work *work, struct store *store, struct map *changed, struct error *error)
{
    struct statement *statement = store_prepare(store, schema_join_load_changed, error);
    int row = statement ? 1 : -1;
    while (row == 1 && (row = statement_step(statement, error)) == 1)
        if (!map_put(changed, (struct map_key){{(uint64_t)statement_integer(statement, 0)}}, 1, NULL))
            row = error_no_memory(error);
    statement_free(statement);
    for (size_t i = 0; row == 0 && i < work->process_count; i++)
        if (map_get(changed, (struct map_key){{(uint64_t)work->processes[i].id}}))
            work->runs[work->processes[i].run].is_changed = 1;
    return row;
}

static enum step_source source_named(const char *name)
{
    if (name && strcmp(name, "tags") == 0)
        return STEPS_BY_TAGS;
    if (name && strcmp(name, "told") == 0)
        return STEPS_TOLD;
    return name && strcmp(name, "period") == 0 ? STEPS_BY_PERIOD : STEPS_NONE;
}

/* Rows and communicators both come in the order of ids. Marks the runs that have earlier results. */
static int read_earlier(struct work *work, struct store *store, unsigned char *known, struct error *error)
{
    struct statement *statement = store_prepare(store, schema_join_load_earlier_steps, error);
    int row = statement ? 1 : -1;
    size_t at = 0;
    while (row == 1 && (row = statement_step(statement, error)) == 1) {
        int64_t id = statement_integer(statement, 0);
        while (at < work->communicator_count && work->communicators[at].id < id)
            at++;
        if (at == work->communicator_count || work->communicators[at].id != id ||
            work->communicators[at].run < 0)
            continue;
        struct work_run *run = &work->runs[work->communicators[at].run];
        run->step_count = (int32_t)statement_integer(statement, 1);
        run->step_source = source_named(statement_text(statement, 2));
        run->first_step = (int32_t)statement_integer(statement, 3);
        run->step_base = statement_integer(statement, 4);
        known[work->communicators[at].run] = 1;
    }
    statement_free(statement);
    return row;
}

/* Finds the runs to be joined again, and loads what is known about the steps of the others. */
static int work_find_changes(struct work *work, struct store *store, struct error *error)
{
    struct map changed;
    map_init(&changed);
    unsigned char *known = array_new(work->run_count, 1);
    int failed = known ? read_changed(work, store, &changed, error) || read_earlier(work, store, known, error)
                       : error_no_memory(error);
    map_release(&changed);
    for (size_t i = 0; !failed && i < work->run_count; i++) {
        work->runs[i].is_changed |= !known[i];
        if (!work->runs[i].is_changed)
            continue;
        work->runs[i].step_count = 0;
        work->runs[i].step_source = STEPS_NONE;
        work->runs[i].first_step = 0;
        work->runs[i].step_base = 0;
    }
    free(known);
    return failed ? -1 : 0;
}

/* Runs a statement with `count` integer parameters. */
static int run(struct store *store, struct blocks *blocks, const char *sql, const int64_t *numbers, int count,
               struct error *error)
{
    blocks_enter(blocks);
    struct statement *statement = store_prepare(store, sql, error);
    int failed = !statement;
    for (int i = 0; !failed && i < count; i++)
        failed = statement_bind_integer(statement, i + 1, numbers[i], error);
    failed = failed || statement_step(statement, error) < 0;
    statement_free(statement);
    blocks_leave(blocks);
    return failed ? -1 : 0;
}

/* Removes what earlier joins made of a communicator. */
static int clear_instances(struct store *store, struct blocks *blocks, int64_t communicator_id,
                           struct error *error)
{
    return run(store, blocks, schema_join_save_clear_instances, &communicator_id, 1, error) ||
                   run(store, blocks, schema_join_save_clear_unequal, &communicator_id, 1, error)
               ? -1
               : 0;
}

static int save_unequal(struct store *store, struct blocks *blocks, int64_t communicator_id,
                        const struct unequal_pairs *unequal, struct error *error)
{
    const int64_t numbers[] = {communicator_id,        unequal->count,    unequal->sender,
                               unequal->receiver,      unequal->sequence, unequal->sent_bytes,
                               unequal->received_bytes};
    return unequal->count ? run(store, blocks, schema_join_save_unequal, numbers,
                                (int)(sizeof numbers / sizeof *numbers), error)
                          : 0;
}

/* The communicators of a run; each is joined by itself. */
struct communicators {
    struct store *store;
    const int32_t *items;
    struct series_table *series; /* one for each rank of the store */
};

static int join_communicator(void *context, struct pool_worker *worker, size_t number, struct error *error)
{
    struct communicators *communicators = context;
    int32_t communicator = communicators->items[number];
    int64_t id = worker->work.communicators[communicator].id;
    struct unequal_pairs unequal;
    return clear_instances(communicators->store, &worker->blocks, id, error) ||
                   instances_join(&worker->work, communicator, &worker->blocks, communicators->series,
                                  &unequal, error) ||
                   save_unequal(communicators->store, &worker->blocks, id, &unequal, error)
               ? -1
               : 0;
}

/*
 * `series` has an entry for each rank of the store. The entries of the run are initialised and released here.
 */
static int join_run(struct work *work, int32_t run, struct worker_pool *pool, struct series_table *series,
                    struct error *error)
{
    const struct grouping *ranks = &work->ranks_of_run, *of = &work->communicators_of_run;
    struct communicators communicators = {pool->store, of->items + of->first[run], series};
    for (size_t i = ranks->first[run]; i < ranks->first[run + 1]; i++)
        series_table_init(&series[ranks->items[i]]);
    int failed =
        run_align_windows(work, run, pool, error) || run_number(work, run, pool, series, error) ||
        worker_pool_run(pool, join_communicator, &communicators, of->first[run + 1] - of->first[run], error);
    for (size_t i = ranks->first[run]; i < ranks->first[run + 1]; i++)
        series_table_release(&series[ranks->items[i]]);
    return failed ? -1 : 0;
}

static int join_changed(struct work *work, struct store *store, size_t threads, struct error *error)
{
    struct worker_pool pool;
    struct series_table *series = array_new(work->rank_count, sizeof *series);
    if (!series)
        return error_no_memory(error);
    int failed = worker_pool_init(&pool, work, store, threads, error);
    for (size_t i = 0; !failed && i < work->run_count; i++)
        if (work->runs[i].is_changed)
            failed = join_run(work, (int32_t)i, &pool, series, error);
    worker_pool_release(&pool);
    free(series);
    return failed;
}

static void work_init(struct work *work)
{
    *work = (struct work){.processes = NULL};
    intern_init(&work->texts);
    intern_init(&work->run_names);
}

static int load(struct work *work, struct store *store, struct error *error)
{
    return work_load(work, store, error) || work_find_ranks(work, error) ? -1 : 0;
}

/* Unites the recorders of one job into one run. */
static int unite(struct work *work, struct store *store, struct error *error)
{
    int united = recorders_unite(work, store, error);
    if (united <= 0)
        return united;
    work_release(work);
    work_init(work);
    return load(work, store, error);
}

/* Whether a statement returns a row; -1 on error. */
static int has_row(struct store *store, const char *is_there, struct error *error)
{
    struct statement *question = store_prepare(store, is_there, error);
    int answer = question ? statement_step(question, error) : -1;
    statement_free(question);
    return answer;
}

/* Executes `then` if statement `is_there` returns a row. */
static int execute_where(struct store *store, const char *is_there, const char *then, struct error *error)
{
    int answer = has_row(store, is_there, error);
    return answer == 1 ? record_tables_execute(store, then, error) : answer;
}

/* Of proxy operations for other processes: what an earlier join set, before anything is corrected. */
static int clear_foreign(struct store *store, struct error *error)
{
    int answer = has_row(store, schema_join_foreign_is_there, error);
    return answer == 1 ? store_execute(store, schema_join_foreign_clear, error) : answer;
}

static int place_foreign(struct store *store, struct error *error)
{
    int answer = has_row(store, schema_join_foreign_is_there, error);
    return answer == 1 ? foreign_proxies_place(store, error) : answer;
}

/* Unites calls that NCCL's log or RAS lists with those that a trace of the same process has. */
static int unite_logs(struct store *store, struct error *error)
{
    return execute_where(store, schema_join_witness_is_there, schema_join_witness_unite, error);
}

/* Of several RAS reports, keeps the newest. */
static int choose_dumps(struct store *store, struct error *error)
{
    return execute_where(store, schema_join_ras_is_there, schema_join_ras_choose, error);
}

static int make(struct work *work, struct store *store, size_t threads, struct error *error)
{
    if (recorded_restore(store, error) < 0 || clear_foreign(store, error) ||
        recorders_rematch(store, error) || logs_correct(store, threads, error) ||
        choose_dumps(store, error) || unite_logs(store, error) || place_foreign(store, error) ||
        load(work, store, error) || unite(work, store, error) || work_name_runs(work, store, error) ||
        work_group_joined(work, error) || work_find_changes(work, store, error) ||
        join_changed(work, store, threads, error))
        return -1;
    return work_save(work, store, error) || recorders_save(store, error) || calls_join(work, store, error)
               ? -1
               : 0;
}

/*
 * Version of the join. Increase it when the same files would give other tables; results of other versions are
 * replaced.
 */
enum { RULES = 9 };

static int read_state(struct store *store, int64_t *joined, int64_t *rules, struct error *error)
{
    return store_fact(store, "joined", 0, joined, error) || store_fact(store, "join_rules", 0, rules, error)
               ? -1
               : 0;
}

int join_is_current(struct store *store, struct error *error)
{
    int64_t joined, rules;
    return read_state(store, &joined, &rules, error) ? -1 : joined && rules == RULES;
}

static int join_all(struct work *work, struct store *store, size_t threads, struct error *error)
{
    int64_t joined, rules;
    if (read_state(store, &joined, &rules, error) ||
        (rules != RULES && store_execute(store, schema_join_save_all_changed, error)) ||
        make(work, store, threads, error))
        return -1;
    return store_set_fact(store, "joined", 1, error) || store_set_fact(store, "join_rules", RULES, error) ? -1
                                                                                                          : 0;
}

/* Like join_store, within a transaction of the caller. */
static int join_in_transaction(struct store *store, size_t threads, struct error *error)
{
    int current = join_is_current(store, error);
    if (current)
        return current < 0 ? -1 : 0;
    int is_shard = store_is_shard(store, error);
    if (is_shard)
        return is_shard < 0
                   ? -1
                   : error_set(error, "%s is a shard; combine shards with ncclprof merge", store_path(store));
    struct work work;
    work_init(&work);
    int failed = join_all(&work, store, threads, error);
    work_release(&work);
    return failed ? error_wrap(error, "cannot join the operations in %s across ranks", store_path(store)) : 0;
}

int join_store(struct store *store, size_t threads, struct error *error)
{
    int current = join_is_current(store, error);
    if (current)
        return current < 0 ? -1 : 0;
    if (store_begin(store, error))
        return -1;
    if (join_in_transaction(store, threads, error) == 0 && store_commit(store, error) == 0)
        return 0;
    store_rollback(store);
    return -1;
}

/* Joins first, because runs are found in joined tables. */
static int forget(struct store *store, const char *list, size_t threads, struct forgotten *forgotten,
                  struct error *error)
{
    int64_t *runs;
    size_t count;
    if (join_in_transaction(store, threads, error) || run_find_all(store, list, &runs, &count, error))
        return -1;
    int failed =
        forget_runs(store, runs, count, forgotten, error) || join_in_transaction(store, threads, error);
    free(runs);
    return failed ? -1 : 0;
}

int join_forget(struct store *store, const char *list, size_t threads, struct forgotten *forgotten,
                struct error *error)
{
    if (store_begin(store, error))
        return -1;
    if (forget(store, list, threads, forgotten, error) == 0 && store_commit(store, error) == 0)
        return 0;
    store_rollback(store);
    return -1;
}

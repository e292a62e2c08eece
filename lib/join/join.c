#include "join/join.h"

#include "join/instances.h"
#include "join/runs.h"
#include "join/work.h"
#include "schemas.h"
#include "store/store.h"

/* Removes what earlier joins made of a communicator. */
static int clear_instances(struct store *store, int64_t communicator_id, struct error *error)
{
    struct statement *clear = store_prepare(store, schema_join_save_clear_instances, error);
    int failed = !clear || statement_bind_integer(clear, 1, communicator_id, error) ||
                 statement_step(clear, error) < 0;
    statement_free(clear);
    return failed ? -1 : 0;
}

static int join_run(struct work *work, int32_t run, struct store *store, struct blocks *blocks,
                    struct error *error)
{
    struct series_table series;
    series_table_init(&series);
    int failed = run_number(work, run, store, blocks, &series, error);
    for (size_t i = 0; !failed && i < work->communicator_count; i++)
        if (work->communicators[i].run == run)
            failed = clear_instances(store, work->communicators[i].id, error) ||
                     instances_join(work, (int32_t)i, blocks, &series, error);
    series_table_release(&series);
    return failed ? -1 : 0;
}

static int join_changed(struct work *work, struct store *store, struct error *error)
{
    struct blocks blocks;
    int failed = blocks_init(&blocks, store, &work->texts, error);
    for (size_t i = 0; !failed && i < work->run_count; i++)
        if (work->runs[i].is_changed)
            failed = join_run(work, (int32_t)i, store, &blocks, error);
    blocks_release(&blocks);
    return failed;
}

static int make(struct work *work, struct store *store, struct error *error)
{
    if (work_load(work, store, error) || work_find_ranks(work, error) || work_group_members(work, error) ||
        work_find_changes(work, store, error) || join_changed(work, store, error))
        return -1;
    return work_save(work, store, error);
}

int join_store(struct store *store, struct error *error)
{
    int64_t joined;
    if (store_fact(store, "joined", 0, &joined, error))
        return -1;
    if (joined)
        return 0;
    if (store_begin(store, error))
        return -1;
    struct work work = {0};
    intern_init(&work.texts);
    int failed =
        make(&work, store, error) || store_set_fact(store, "joined", 1, error) || store_commit(store, error);
    work_release(&work);
    if (!failed)
        return 0;
    store_rollback(store);
    return error_wrap(error, "cannot join the operations in %s across ranks", store_path(store));
}

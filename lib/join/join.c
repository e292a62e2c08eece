#include "join/join.h"

#include "join/work.h"
#include "store/store.h"

static int make(struct work *work, struct store *store, struct error *error)
{
    if (work_load(work, store, error) || work_find_ranks(work, error) || work_order_operations(work, error) ||
        work_order_marks(work, error) || work_assign_tags(work, error) || work_assign_steps(work, error) ||
        work_join_instances(work, error))
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

#include "join/forget.h"

#include "join/join.h"
#include "store/forget.h"
#include "store/run_names.h"
#include "store/store.h"

#include <stdlib.h>

/* Runs are those of joined tables. */
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

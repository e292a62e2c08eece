#include "join/calls.h"

#include "base/array.h"
#include "join/call_list.h"
#include "join/call_match.h"
#include "join/call_operations.h"
#include "schemas.h"
#include "store/store.h"

#include <stdlib.h>

static int put(struct statement *statement, const struct call *call, const struct work *work,
               struct error *error)
{
    int32_t rank = call->of.rank;
    int failed =
        statement_bind_integer(statement, 1, call->id, error) ||
        (rank < 0 ? statement_bind_null(statement, 2, error)
                  : statement_bind_integer(statement, 2, work->runs[work->ranks[rank].run].number, error)) ||
        (rank < 0 ? statement_bind_null(statement, 3, error)
                  : statement_bind_integer(statement, 3, rank + 1, error)) ||
        (call->operation_id ? statement_bind_integer(statement, 4, call->operation_id, error)
                            : statement_bind_null(statement, 4, error)) ||
        (call->operation_id ? statement_bind_null(statement, 5, error)
                            : statement_bind_text(statement, 5, call->reason, error)) ||
        statement_step(statement, error);
    return failed ? -1 : 0;
}

static int save(const struct call_list *list, const struct work *work, struct store *store,
                struct error *error)
{
    struct statement *statement = store_prepare(store, schema_join_call_put, error);
    int failed = !statement;
    for (size_t i = 0; !failed && i < list->count; i++)
        failed = put(statement, &list->items[i], work, error);
    statement_free(statement);
    return failed ? -1 : store_execute(store, schema_join_call_places, error);
}

static int join(struct call_list *list, const struct work *work, struct store *store, struct error *error)
{
    struct call_operations operations = {.items = NULL};
    int failed =
        call_operations_load(&operations, list, work, store, error) || call_match(list, &operations, error);
    call_operations_release(&operations);
    return failed ? -1 : save(list, work, store, error);
}

int calls_join(const struct work *work, struct store *store, struct error *error)
{
    struct call_list list;
    call_list_init(&list);
    int failed = store_execute(store, schema_join_call_clear, error) ||
                 call_list_load(&list, work, store, error) || (list.count && join(&list, work, store, error));
    call_list_release(&list);
    return failed ? -1 : 0;
}

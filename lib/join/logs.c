#include "join/logs.h"

#include "base/array.h"
#include "join/log_blocks.h"
#include "join/log_clock.h"
#include "join/log_doubles.h"
#include "join/log_order.h"
#include "join/log_unite.h"
#include "schemas.h"
#include "store/store.h"

#include <stdlib.h>

static int mend_process(struct logs *logs, int64_t process_id, struct error *error)
{
    static const char *const undo[] = {schema_join_logs_restore, schema_join_logs_forget_recorded,
                                       schema_join_logs_restore_proxies, schema_join_logs_forget_proxies,
                                       schema_join_logs_forget_clock_steps};
    for (size_t i = 0; i < sizeof undo / sizeof *undo; i++)
        if (logs_run(logs->store, undo[i], process_id, error))
            return -1;
    if (logs_list(logs, process_id, error))
        return -1;
    int moved = logs_order_files(logs, error);
    if (moved < 0 || (moved && logs_list(logs, process_id, error)))
        return -1;
    return logs_leave_out_doubles(logs, error) || logs_list(logs, process_id, error) ||
                   logs_mend_clock(logs, error)
               ? -1
               : 0;
}

static int list_processes(struct store *store, int64_t **ids, size_t *count, struct error *error)
{
    struct statement *statement = store_prepare(store, schema_join_logs_processes, error);
    size_t capacity = 0;
    int row = statement ? 1 : -1;
    while (row == 1 && (row = statement_step(statement, error)) == 1) {
        if (array_reserve((void **)ids, &capacity, *count + 1, sizeof **ids)) {
            row = error_no_memory(error);
            break;
        }
        (*ids)[(*count)++] = statement_integer(statement, 0);
    }
    statement_free(statement);
    return row;
}

int logs_mend(struct store *store, struct error *error)
{
    struct logs logs;
    int64_t *ids = NULL;
    size_t count = 0;
    int failed = logs_init(&logs, store, error) || logs_unite_processes(store, error) ||
                 list_processes(store, &ids, &count, error);
    for (size_t i = 0; !failed && i < count; i++)
        failed = mend_process(&logs, ids[i], error);
    logs_release(&logs);
    free(ids);
    return failed ? -1 : 0;
}

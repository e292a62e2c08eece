#include "store/extension.h"

#include "store/packed_table.h"
#include "store/step_table.h"

#include <stdlib.h>

/* Of the program that loads it. In the tool SQLite is linked, and this is nothing. */
SQLITE_EXTENSION_INIT1

static void tell_version(sqlite3_context *context, int count, sqlite3_value **values)
{
    sqlite3_result_text(context, NCCLPROF_VERSION, -1, SQLITE_STATIC);
}

/* The connection owns the store by a function, which goes with it. */
static int register_all(struct store *store, struct error *error)
{
    int code = sqlite3_create_function_v2(store->handle, "ncclprof_version", 0,
                                          SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, store,
                                          tell_version, NULL, NULL, free);
    if (code != SQLITE_OK)
        return error_set(error, "cannot register ncclprof_version: %s", sqlite3_errstr(code));
    return step_table_register(store, error) || packed_tables_register(store, error) ? -1 : 0;
}

int sqlite3_ncclprofviews_init(sqlite3 *handle, char **reason, const sqlite3_api_routines *routines)
{
    struct error error = ERROR_INIT;
    SQLITE_EXTENSION_INIT2(routines);
    struct store *store = calloc(1, sizeof *store);
    if (!store)
        return SQLITE_NOMEM;
    store->handle = handle;
    if (register_all(store, &error) == 0)
        return SQLITE_OK;
    *reason = sqlite3_mprintf("%s", error.cause[0]);
    return SQLITE_ERROR;
}

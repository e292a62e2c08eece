#ifndef NCCLPROF_STORE_INTERNAL_H
#define NCCLPROF_STORE_INTERNAL_H

#include "store/store.h"

#include <sqlite3.h>

/* What a store and a statement are. Nothing outside lib/store includes this, or sqlite3.h. */

struct store {
    sqlite3 *handle;
    char *path;
    int declares_table; /* proxy_step is being declared, which query's authorizer must let through */
};

struct statement {
    struct store *store;
    sqlite3_stmt *handle;
};

#endif

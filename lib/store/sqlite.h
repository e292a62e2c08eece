#ifndef NCCLPROF_STORE_SQLITE_H
#define NCCLPROF_STORE_SQLITE_H

#include "store/store.h"

/* In ncclprof_views.so (module.mk) SQLite is that of the program which loads it, elsewhere it is linked. */
#ifndef NCCLPROF_EXTENSION
#define SQLITE_CORE 1
#endif
#include <sqlite3ext.h>

SQLITE_EXTENSION_INIT3

/* What a store and a statement are. Nothing outside lib/store includes this, or SQLite's headers. */

struct store {
    sqlite3 *handle;
    char *path;
    size_t threads;     /* that whoever reads it may work with */
    int reads_views;    /* that lie in the file: they are ours */
    int declares_table; /* proxy_step is being declared, which query's authorizer must let through */
};

struct statement {
    struct store *store;
    sqlite3_stmt *handle;
};

#endif

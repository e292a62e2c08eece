#ifndef NCCLPROF_STORE_SQLITE_H
#define NCCLPROF_STORE_SQLITE_H

#include "store/store.h"

/* ncclprof_views.so (module.mk) uses the SQLite of the program that loads it; the tool links SQLite. */
#ifndef NCCLPROF_EXTENSION
#define SQLITE_CORE 1
#endif
#include <sqlite3ext.h>

SQLITE_EXTENSION_INIT3

/* The definitions of a store and a statement. Nothing outside lib/store includes this header or SQLite's. */

struct known_blocks;

struct store {
    sqlite3 *handle;
    char *path;
    size_t threads;  /* number of threads that may work on data read from the store */
    int reads_views; /* the views in the file are ours and may be read */
    char *program;   /* owned, as `input`: what a command line for this store begins and ends with */
    char *input;     /* NULL: not known */
    int names_run;   /* there are several runs, so that the command line names one */
    struct known_blocks *known_blocks; /* owned; NULL: none */
    int declares_table; /* proxy_step is being declared; the authorizer of a query must allow that */
};

struct statement {
    struct store *store;
    sqlite3_stmt *handle;
};

#endif

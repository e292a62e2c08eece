#ifndef NCCLPROF_STORE_EXTENSION_H
#define NCCLPROF_STORE_EXTENSION_H

#include "store/internal.h"

/*
 * What SQLite calls when a program loads ncclprof_views.so (lib/store/module.mk): the virtual tables that a
 * store's views stand on are there then, and function ncclprof_version().
 */
__attribute__((visibility("default"))) int sqlite3_ncclprofviews_init(sqlite3 *handle, char **reason,
                                                                      const sqlite3_api_routines *routines);

#endif

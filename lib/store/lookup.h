#ifndef NCCLPROF_STORE_LOOKUP_H
#define NCCLPROF_STORE_LOOKUP_H

#include "store/internal.h"

/* What virtual tables let SQLite hand down: equality on an id, ranges of ids, and equality on an owner. */

/* Ways to look rows up: bits of a plan's number, one argument each, in this order. */
enum lookup_way {
    LOOKUP_BY_ID = 1,
    LOOKUP_FROM_ID = 2,
    LOOKUP_UP_TO_ID = 4,
    LOOKUP_BY_OWNER = 8,
    LOOKUP_WAYS = 4 /* how many there are */
};

/* Where a table has them: the id in column 0; the owner in column `owner`, 0: it has none. */
struct lookup_columns {
    int owner;
    int rowid_is_id;
};

/* Says in `info` which constraints are arguments of the plan, and returns it: bits of enum lookup_way. */
int lookup_choose(sqlite3_index_info *info, struct lookup_columns columns);

/* Binds the plan's arguments to parameters 1 to LOOKUP_WAYS: each way has its own. An SQLite code. */
int lookup_bind(sqlite3_stmt *source, int plan, int count, sqlite3_value **values);

#endif

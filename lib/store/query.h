#ifndef NCCLPROF_STORE_QUERY_H
#define NCCLPROF_STORE_QUERY_H

#include "base/error.h"
#include "model/table.h"

struct query;
struct store;

struct query_limits {
    int64_t seconds;              /* 0: none */
    int (*wanted)(void *context); /* asked now and then: true stops the query; NULL: nobody to ask */
    int allows_views;             /* those that lie in the file, too: a stranger's may never end by itself */
};

/*
 * Runs one statement of a stranger's SQL that can only read: nothing but SELECT gets through (no attaching,
 * no loading of extensions, of pragmas only those that describe tables), whatever else the connection would
 * allow. One query a connection at a time. `limits` is copied. NULL when the SQL is refused.
 *
 *     while ((more = query_next(query, &cells, error)) == 1) ...
 */
struct query *query_open(struct store *store, const char *sql, const struct query_limits *limits,
                         struct error *error);

/*
 * Likewise the first statement of *sql, which moves behind it. NULL with *is_end where none is left, else
 * with an error.
 */
struct query *query_open_first(struct store *store, const char **sql, const struct query_limits *limits,
                               int *is_end, struct error *error);
void query_close(struct query *query);

/*
 * A table with the query's columns and no rows; lives as long as the query. The caller may add units and
 * descriptions. Equal column names have got _2, _3 ... behind them.
 */
struct table *query_head(struct query *query);

/*
 * 1 with the next row (one cell a column, borrowed until the next call), 0 at the end, -1 when it failed, ran
 * out of time or was stopped. Integers are exact; blobs come as text x'...'.
 */
int query_next(struct query *query, const struct cell **cells, struct error *error);

/* Whether `wanted` stopped it. */
int query_stopped(const struct query *query);

#endif

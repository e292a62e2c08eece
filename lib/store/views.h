#ifndef NCCLPROF_STORE_VIEWS_H
#define NCCLPROF_STORE_VIEWS_H

#include "base/error.h"
#include "model/table.h"

#include <stddef.h>
#include <stdint.h>

struct statement;
struct store;

/*
 * What a store shows to others: the views of ncclprof-store(5), virtual table proxy_step, and the two tables
 * that views point into. Each with its columns, as an export has them.
 */
struct view {
    const char *name;
    const char *description; /* of a row */
    const struct column *columns;
    size_t column_count;
    const char *of_run;   /* which rows are of the run that is parameter 1 */
    const char *keys[4];  /* columns, with commas between, by which users look rows up; NULL past the last */
    int has_number;       /* the first column is a number of the row alone */
    int is_network_steps; /* many times as many rows as all others together */
};

enum { STORE_VIEWS = 15 };
extern const struct view store_views[STORE_VIEWS];

/*
 * The rows of a view, those of run `run_id` alone unless it is 0: their columns are the view's, in its order.
 * NULL on error.
 */
struct statement *view_rows(struct store *store, const struct view *view, int64_t run_id,
                            struct error *error);

#endif

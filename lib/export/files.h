#ifndef NCCLPROF_EXPORT_FILES_H
#define NCCLPROF_EXPORT_FILES_H

#include "base/error.h"
#include "export/parquet_file.h"

#include <stdint.h>

struct store;
struct view;

/* The views of a store as files for other tools. */

struct export_request {
    struct store *store; /* joined; what is written is its state as the first row is read */
    const char *path;
    int64_t run_id;                 /* 0: all */
    int network_steps;              /* the views of network steps, too */
    struct parquet_options parquet; /* of export_parquet */
    /* A view is done: in so many rows. Called in the order of store_views; -1 with an error ends it all. */
    int (*tell)(void *context, const struct view *view, const char *path, int64_t rows, struct error *error);
    void *context;
};

/* One SQLite file, tables alone. It is there whole, or what was there before. */
int export_sqlite(const struct export_request *request, struct error *error);

/*
 * A directory, which is made where there is none, with NAME.csv for each view. The files take their names one
 * after the other when all of them are written; of another export's, those that this one lacks are removed.
 */
int export_csv(const struct export_request *request, struct error *error);

/* Likewise with NAME.parquet. */
int export_parquet(const struct export_request *request, struct error *error);

#endif

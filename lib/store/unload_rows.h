#ifndef NCCLPROF_STORE_UNLOAD_ROWS_H
#define NCCLPROF_STORE_UNLOAD_ROWS_H

#include "store/insert.h"
#include "store/unload.h"

/* What a struct unload (unload.h) holds, which unload.c reads and unload_rows.c puts. */

/* Ids of the store that is read, ascending; at the same place stands what the inserter counts. */
struct id_list {
    int64_t *items; /* owned */
    size_t count;
    size_t capacity;
};

/* Whom the rows of a file name. */
struct names {
    struct batch batch;
    struct id_list processes;
    struct id_list communicators;
    struct id_list members;
    struct id_list peers; /* of each member; INT64_MIN: no traffic */
    int are_put;
};

struct cell_value {
    int type; /* SQLite's */
    union {
        int64_t integer;
        double real;
        struct {
            size_t offset; /* in `bytes` */
            size_t length;
        } span;
    } as;
};

/* Rows at hand, of table after table. */
struct rows {
    struct {
        struct cell_value *cells; /* owned: row after row */
        size_t count;             /* cells */
        size_t capacity;
    } tables[BULK_TABLES];
    struct buffer bytes;   /* texts and blobs */
    size_t size_bytes;     /* of it all */
    enum bulk_table table; /* that is read next */
    int64_t from_id;       /* its first row that has not been read */
};

/* Puts what has been read. 1, with `error` set: the rows cannot be as they were read; -1: the store that is
 * written failed. */
int unload_put(struct unload *load, struct inserter *inserter, struct insert_target *target,
               struct error *error);

/* Where an id stands; -1: it is not there. */
int64_t id_list_find(const struct id_list *list, int64_t id);

#endif

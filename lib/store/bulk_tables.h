#ifndef NCCLPROF_STORE_BULK_TABLES_H
#define NCCLPROF_STORE_BULK_TABLES_H

#include "base/buffer.h"
#include "store/insert.h"
#include "store/internal.h"

/* The tables that batches fill row by row: their names and columns, and which of a row's values goes where.
 */

const char *bulk_table_name(enum bulk_table table);

/* The sentence that inserts so many rows. -1: no memory. */
int bulk_table_say_insert(enum bulk_table table, int rows, struct buffer *sql);

/* Binds the batch's rows from `first` on to it; they outlive it. -1: no memory. */
int bulk_table_bind(enum bulk_table table, sqlite3_stmt *handle, const struct batch *batch,
                    const struct insert_target *target, size_t first, size_t rows);

#endif

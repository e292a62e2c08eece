#ifndef NCCLPROF_STORE_BIND_ROWS_H
#define NCCLPROF_STORE_BIND_ROWS_H

#include "store/insert.h"

/*
 * Binds rows of a batch, from the `first` on, to a statement that inserts so many into one of the bulk
 * tables, in the order of its columns. The batch has to outlive the statement's step. -1: no memory.
 */
int bind_rows(struct statement *statement, const struct batch *batch, const struct insert_target *target,
              enum bulk_table table, size_t first, size_t rows);

#endif

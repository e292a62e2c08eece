#ifndef NCCLPROF_MODEL_BLOCK_H
#define NCCLPROF_MODEL_BLOCK_H

#include "model/column.h"

#include <stddef.h>

/*
 * Up to BLOCK_ROWS rows of one table as one run of bytes, column by column (column.h), so that what is alike
 * from row to row takes next to no room and a reader unpacks only the columns that it asks for. Any value may
 * be absent. Kept in stores: the forms never change.
 *
 *     number       2, the form (numbers as in varint.h)
 *     number       rows
 *     number       columns; form 1 is without it and has those that its table had first
 *     columns      each a number, its length, and its bytes
 *     number       distinct texts, each a number, its length, and its bytes with a NUL behind them
 *     bytes        of the column of type BLOCK_BYTES, row after row
 */
enum { BLOCK_ROWS = COLUMN_ROWS, BLOCK_COLUMNS = 40 };

enum block_type {
    BLOCK_INTEGER,
    BLOCK_TEXT, /* without NULs inside */
    BLOCK_BYTES /* one column of a table at most */
};

struct block_column {
    enum block_type type;
    int minus; /* integers that lie near those of an earlier column, 1 + its number: kept as differences; 0 */
};

/*
 * The columns of a table, BLOCK_COLUMNS at most. They are part of what is kept: none is ever moved, and new
 * ones follow at the end. In a block that was made before there was a column all its values are absent.
 */
struct block_layout {
    const struct block_column *columns;
    size_t count;
    size_t first_count; /* when blocks were of form 1 */
};

#endif

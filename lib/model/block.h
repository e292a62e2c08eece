#ifndef NCCLPROF_MODEL_BLOCK_H
#define NCCLPROF_MODEL_BLOCK_H

#include "base/buffer.h"
#include "model/column.h"

#include <stddef.h>
#include <stdint.h>

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
enum { BLOCK_ROWS = COLUMN_ROWS, BLOCK_COLUMNS = 32 };

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

/* Making a block, row by row. Values not set are absent. */
struct block_writer {
    const struct block_layout *layout;
    size_t count;
    int64_t *values; /* owned; [column][row], as is absent */
    uint8_t *absent;
    struct buffer texts;
    size_t text_count;
    size_t text_at[BLOCK_ROWS]; /* in `texts` */
    struct buffer bytes;
    int failed; /* memory ran out: told by block_pack */
};

/* -1 when memory is out; release it all the same. */
int block_writer_init(struct block_writer *writer, const struct block_layout *layout);
void block_writer_release(struct block_writer *writer);

/* Begins a row; at most BLOCK_ROWS between two block_pack. */
static inline void block_add_row(struct block_writer *writer)
{
    writer->count++;
}

/* What stands in the newest row. Each column once a row. NULL texts and bytes are absent. */
static inline void block_set(struct block_writer *writer, int column, int64_t value)
{
    size_t at = (size_t)column * BLOCK_ROWS + writer->count - 1;
    writer->values[at] = value;
    writer->absent[at] = 0;
}
void block_set_text(struct block_writer *writer, int column, const char *text);
void block_set_bytes(struct block_writer *writer, int column, const void *bytes, size_t length);

/* Appends the block to `buffer` and empties the writer. -1 when memory is, or was, out. */
int block_pack(struct block_writer *writer, struct buffer *buffer);

/* Reading blocks of one layout, one at a time. */
struct block_reader {
    const struct block_layout *layout;
    size_t count;             /* rows */
    size_t columns;           /* that the block has, at most those of the layout */
    struct buffer packed;     /* its own copy of the block */
    size_t at[BLOCK_COLUMNS]; /* where each column stands in it, and how long it is */
    size_t length[BLOCK_COLUMNS];
    int64_t *values[BLOCK_COLUMNS]; /* owned; NULL until asked for once */
    uint8_t *absent[BLOCK_COLUMNS];
    size_t value_room[BLOCK_COLUMNS]; /* rows that those have room for */
    size_t absent_room[BLOCK_COLUMNS];
    uint8_t is_unpacked[BLOCK_COLUMNS];
    size_t text_count;
    size_t text_at[BLOCK_ROWS];
    size_t bytes_at; /* of the column of bytes */
};

void block_reader_init(struct block_reader *reader, const struct block_layout *layout);
void block_reader_release(struct block_reader *reader);

/* Takes a block, which is copied. -1: it was not made here, or memory is out (*no_memory tells). */
int block_open(struct block_reader *reader, const void *block, size_t length, int *no_memory);

/*
 * Unpacks a column, once. Afterwards values[column][row] and absent[column][row] are good; a text's value is
 * its number among the texts, bytes' value where they end. -1 as above.
 */
int block_column(struct block_reader *reader, int column, int *no_memory);

/* Of a column that is unpacked. The value, or `otherwise` where it is absent. */
static inline int64_t block_value(const struct block_reader *reader, int column, size_t row,
                                  int64_t otherwise)
{
    return reader->absent[column][row] ? otherwise : reader->values[column][row];
}

/* Borrowed until the next block_open; NULL where absent. Texts end in NUL, bytes' length goes to *length. */
const char *block_text(const struct block_reader *reader, int column, size_t row);
const void *block_bytes(const struct block_reader *reader, int column, size_t row, size_t *length);

#endif

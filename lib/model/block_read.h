#ifndef NCCLPROF_MODEL_BLOCK_READ_H
#define NCCLPROF_MODEL_BLOCK_READ_H

#include "base/buffer.h"
#include "model/block.h"

#include <stddef.h>
#include <stdint.h>

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

#ifndef NCCLPROF_MODEL_BLOCK_WRITE_H
#define NCCLPROF_MODEL_BLOCK_WRITE_H

#include "base/buffer.h"
#include "model/block.h"

#include <stddef.h>
#include <stdint.h>

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

#endif

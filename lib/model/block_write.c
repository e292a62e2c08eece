#include "model/block_write.h"

#include "base/array.h"
#include "model/varint.h"

#include <stdlib.h>
#include <string.h>

enum { FORM = 2 };

static void empty(struct block_writer *writer)
{
    writer->count = writer->text_count = 0;
    writer->failed = 0;
    memset(writer->absent, 1, writer->layout->count * BLOCK_ROWS);
    buffer_clear(&writer->texts);
    buffer_clear(&writer->bytes);
}

int block_writer_init(struct block_writer *writer, const struct block_layout *layout)
{
    *writer = (struct block_writer){.layout = layout, .texts = BUFFER_INIT, .bytes = BUFFER_INIT};
    writer->values = array_new(layout->count * BLOCK_ROWS, sizeof *writer->values);
    writer->absent = array_new(layout->count * BLOCK_ROWS, sizeof *writer->absent);
    if (!writer->values || !writer->absent)
        return -1;
    empty(writer);
    return 0;
}

void block_writer_release(struct block_writer *writer)
{
    free(writer->values);
    free(writer->absent);
    buffer_release(&writer->texts);
    buffer_release(&writer->bytes);
    *writer = (struct block_writer){.layout = writer->layout};
}

/* The number of a text among those of the block. The newest comes first: texts mostly repeat. */
static size_t find_text(struct block_writer *writer, const char *text)
{
    for (size_t i = writer->text_count; i-- > 0;)
        if (strcmp(writer->texts.data + writer->text_at[i], text) == 0)
            return i;
    writer->text_at[writer->text_count] = writer->texts.length;
    writer->failed |= buffer_append(&writer->texts, text, strlen(text) + 1);
    return writer->text_count++;
}

void block_set_text(struct block_writer *writer, int column, const char *text)
{
    if (text && !writer->failed)
        block_set(writer, column, (int64_t)find_text(writer, text));
}

void block_set_bytes(struct block_writer *writer, int column, const void *bytes, size_t length)
{
    if (!bytes)
        return;
    block_set(writer, column, (int64_t)length);
    writer->failed |= buffer_append(&writer->bytes, bytes, length);
}

/* Takes the values of the column that it lies near away from a column's; from absent ones nothing. */
static const int64_t *differences(const struct block_writer *writer, size_t column, int64_t *scratch)
{
    const int64_t *values = writer->values + column * BLOCK_ROWS;
    int minus = writer->layout->columns[column].minus;
    if (!minus)
        return values;
    const int64_t *base = writer->values + (size_t)(minus - 1) * BLOCK_ROWS;
    const uint8_t *base_absent = writer->absent + (size_t)(minus - 1) * BLOCK_ROWS;
    for (size_t i = 0; i < writer->count; i++)
        scratch[i] = (int64_t)((uint64_t)values[i] - (base_absent[i] ? 0 : (uint64_t)base[i]));
    return scratch;
}

static int put_columns(const struct block_writer *writer, struct buffer *buffer)
{
    struct buffer packed = BUFFER_INIT;
    int64_t scratch[BLOCK_ROWS];
    int failed = 0;
    for (size_t column = 0; column < writer->layout->count && !failed; column++) {
        buffer_clear(&packed);
        failed = column_pack(&packed, differences(writer, column, scratch),
                             writer->absent + column * BLOCK_ROWS, writer->count) ||
                 varint_put(buffer, packed.length) || buffer_append(buffer, packed.data, packed.length);
    }
    buffer_release(&packed);
    return failed ? -1 : 0;
}

static int put_texts(const struct block_writer *writer, struct buffer *buffer)
{
    int failed = varint_put(buffer, writer->text_count);
    for (size_t i = 0; i < writer->text_count && !failed; i++) {
        const char *text = writer->texts.data + writer->text_at[i];
        size_t length = strlen(text);
        failed = varint_put(buffer, length) || buffer_append(buffer, text, length + 1);
    }
    return failed;
}

int block_pack(struct block_writer *writer, struct buffer *buffer)
{
    int failed = writer->failed || varint_put(buffer, FORM) || varint_put(buffer, writer->count) ||
                 varint_put(buffer, writer->layout->count) || put_columns(writer, buffer) ||
                 put_texts(writer, buffer) || buffer_append(buffer, writer->bytes.data, writer->bytes.length);
    empty(writer);
    return failed ? -1 : 0;
}

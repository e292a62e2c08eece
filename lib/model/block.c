/*
 * Packs up to BLOCK_ROWS rows of a table into a block of bytes, column by column, and unpacks single columns
 * of it. The store keeps operations and the results of joins in such blocks.
 */

#include "base/base.h"
#include "model/internal.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

enum { FORM_FIRST = 1, FORM = 2 };

void block_reader_init(struct block_reader *reader, const struct block_layout *layout)
{
    *reader = (struct block_reader){.layout = layout, .packed = BUFFER_INIT};
}

void block_reader_release(struct block_reader *reader)
{
    for (size_t column = 0; column < BLOCK_COLUMNS; column++) {
        free(reader->values[column]);
        free(reader->absent[column]);
    }
    buffer_release(&reader->packed);
    block_reader_init(reader, reader->layout);
}

/* Reading position in the reader's copy of the block. */
struct position {
    const unsigned char *begin;
    const unsigned char *at;
    const unsigned char *end;
};

/* Reads a length and sets where that many bytes begin. */
static int get_piece(struct position *position, size_t *at, size_t *length)
{
    uint64_t bytes;
    if (varint_get(&position->at, position->end, &bytes) || bytes > (uint64_t)(position->end - position->at))
        return -1;
    *at = (size_t)(position->at - position->begin);
    *length = (size_t)bytes;
    position->at += bytes;
    return 0;
}

static int get_texts(struct block_reader *reader, struct position *position)
{
    uint64_t count;
    if (varint_get(&position->at, position->end, &count) || count > BLOCK_ROWS)
        return -1;
    reader->text_count = (size_t)count;
    for (size_t i = 0; i < reader->text_count; i++) {
        size_t length;
        if (get_piece(position, &reader->text_at[i], &length) || position->at == position->end ||
            *position->at++ != '\0')
            return -1;
    }
    return 0;
}

static int get_all(struct block_reader *reader, struct position *position)
{
    uint64_t form, count, columns = reader->layout->first_count;
    if (varint_get(&position->at, position->end, &form) || (form != FORM && form != FORM_FIRST) ||
        varint_get(&position->at, position->end, &count) || count == 0 || count > BLOCK_ROWS ||
        (form == FORM && varint_get(&position->at, position->end, &columns)) ||
        columns > reader->layout->count)
        return -1;
    reader->count = (size_t)count;
    reader->columns = (size_t)columns;
    for (size_t column = 0; column < reader->columns; column++)
        if (get_piece(position, &reader->at[column], &reader->length[column]))
            return -1;
    if (get_texts(reader, position))
        return -1;
    reader->bytes_at = (size_t)(position->at - position->begin);
    return 0;
}

int block_open(struct block_reader *reader, const void *block, size_t length, int *no_memory)
{
    buffer_clear(&reader->packed);
    memset(reader->is_unpacked, 0, sizeof reader->is_unpacked);
    *no_memory = buffer_append(&reader->packed, block, length) != 0;
    if (*no_memory || length == 0)
        return -1;
    const unsigned char *bytes = (const unsigned char *)reader->packed.data;
    struct position position = {bytes, bytes, bytes + length};
    return get_all(reader, &position);
}

/* Adds the values of the earlier column that differences() subtracted. */
static int add_base(struct block_reader *reader, int column, int *no_memory)
{
    int base = reader->layout->columns[column].minus - 1;
    if (base < 0)
        return 0;
    if (block_column(reader, base, no_memory))
        return -1;
    for (size_t i = 0; i < reader->count; i++)
        reader->values[column][i] =
            (int64_t)((uint64_t)reader->values[column][i] +
                      (reader->absent[column][i] ? 0 : (uint64_t)reader->values[base][i]));
    return 0;
}

static int check_texts(const struct block_reader *reader, int column)
{
    for (size_t i = 0; i < reader->count; i++)
        if ((uint64_t)reader->values[column][i] >= reader->text_count && !reader->absent[column][i])
            return -1;
    return 0;
}

/* Turns the lengths in the reader's copy into end offsets. */
static int add_up(struct block_reader *reader, int column)
{
    uint64_t end = reader->bytes_at;
    for (size_t i = 0; i < reader->count; i++) {
        uint64_t length = (uint64_t)reader->values[column][i];
        if (length > reader->packed.length - end)
            return -1;
        end += length;
        reader->values[column][i] = (int64_t)end;
    }
    return 0;
}

/*
 * Allocates only for the rows of the block: with many ranks many readers are open, most of them with short
 * blocks.
 */
static int make_room(struct block_reader *reader, int column)
{
    if (array_reserve((void **)&reader->values[column], &reader->value_room[column], reader->count,
                      sizeof *reader->values[column]) ||
        array_reserve((void **)&reader->absent[column], &reader->absent_room[column], reader->count,
                      sizeof *reader->absent[column]))
        return -1;
    return 0;
}

/* All values of a column are absent. Few recorders know all columns, so most blocks have the same ones. */
static void leave_absent(struct block_reader *reader, int column)
{
    if (reader->absent_rows[column] < reader->count) {
        memset(reader->values[column], 0, reader->count * sizeof *reader->values[column]);
        memset(reader->absent[column], 1, reader->count);
        reader->absent_rows[column] = reader->count;
    }
    reader->is_unpacked[column] = 1;
}

/*
 * Whether the column has no value: it was added after the block was written, or nothing was recorded. Bytes
 * need their offsets in any case.
 */
static int is_absent(const struct block_reader *reader, int column)
{
    if ((size_t)column >= reader->columns)
        return 1;
    return reader->layout->columns[column].type != BLOCK_BYTES &&
           column_is_absent(reader->packed.data + reader->at[column], reader->length[column]);
}

int block_column(struct block_reader *reader, int column, int *no_memory)
{
    *no_memory = 0;
    if (reader->is_unpacked[column])
        return 0;
    if (make_room(reader, column)) {
        *no_memory = 1;
        return -1;
    }
    if (is_absent(reader, column)) {
        leave_absent(reader, column);
        return 0;
    }
    reader->absent_rows[column] = 0;
    if (column_unpack(reader->packed.data + reader->at[column], reader->length[column], reader->count,
                      reader->values[column], reader->absent[column]) ||
        add_base(reader, column, no_memory))
        return -1;
    enum block_type type = reader->layout->columns[column].type;
    if ((type == BLOCK_TEXT && check_texts(reader, column)) ||
        (type == BLOCK_BYTES && add_up(reader, column)))
        return -1;
    reader->is_unpacked[column] = 1;
    return 0;
}

const char *block_text(const struct block_reader *reader, int column, size_t row)
{
    if (reader->absent[column][row])
        return NULL;
    return reader->packed.data + reader->text_at[reader->values[column][row]];
}

const void *block_bytes(const struct block_reader *reader, int column, size_t row, size_t *length)
{
    size_t begin = row ? (size_t)reader->values[column][row - 1] : reader->bytes_at;
    *length = (size_t)reader->values[column][row] - begin;
    return reader->absent[column][row] ? NULL : reader->packed.data + begin;
}

enum { BLOCK_WRITE_FORM = 2 };

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

/*
 * The index of a text among the texts of the block. Searches the newest first, because texts tend to repeat.
 */
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

/* Subtracts the values of the similar earlier column; where that is absent, nothing is subtracted. */
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
    int failed = writer->failed || varint_put(buffer, BLOCK_WRITE_FORM) ||
                 varint_put(buffer, writer->count) || varint_put(buffer, writer->layout->count) ||
                 put_columns(writer, buffer) || put_texts(writer, buffer) ||
                 buffer_append(buffer, writer->bytes.data, writer->bytes.length);
    empty(writer);
    return failed ? -1 : 0;
}

static int put_renamed(const struct block_reader *reader,
                       const char *(*rename)(void *context, const char *text), void *context,
                       struct buffer *renamed)
{
    int failed = varint_put(renamed, reader->text_count);
    for (size_t i = 0; i < reader->text_count && !failed; i++) {
        const char *text = rename(context, reader->packed.data + reader->text_at[i]);
        failed = !text || varint_put(renamed, strlen(text)) || buffer_append(renamed, text, strlen(text) + 1);
    }
    return failed ? -1 : 0;
}

int block_rename(const void *block, size_t length, const struct block_layout *layout,
                 const char *(*rename)(void *context, const char *text), void *context,
                 struct buffer *renamed)
{
    struct block_reader reader;
    int no_memory;
    block_reader_init(&reader, layout);
    int failed = block_open(&reader, block, length, &no_memory);
    if (!failed) {
        size_t last = reader.columns - 1, texts_at = reader.at[last] + reader.length[last];
        failed = buffer_append(renamed, reader.packed.data, texts_at) ||
                 put_renamed(&reader, rename, context, renamed) ||
                 buffer_append(renamed, reader.packed.data + reader.bytes_at, length - reader.bytes_at);
    }
    block_reader_release(&reader);
    return failed ? -1 : 0;
}

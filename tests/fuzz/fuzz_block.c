/*
 * Arbitrary bytes as a packed block of a store, and a block with arbitrary values: a block that was packed
 * here unpacks to the same values; one that was changed afterwards, or was never a block, is refused or read,
 * but never beyond its end.
 */
#include "base/base.h"
#include "model/model.h"
#include "require.h"
#include "store/store.h"
#include "supply.h"

#include <string.h>

static const struct block_layout *next_layout(struct supply *supply)
{
    static const struct block_layout *const layouts[] = {&operation_layout, &joined_layout, &instance_layout};
    return layouts[next(supply) % (sizeof layouts / sizeof *layouts)];
}

/* The content of a cell: its value or, for texts and bytes, the letter that they consist of. */
struct given {
    int present;
    int64_t value;
    char text[8];
    size_t length;
};

static void give(struct supply *supply, struct block_writer *writer, int column, struct given *given)
{
    *given = (struct given){.present = next(supply) % 4 != 0};
    if (!given->present)
        return;
    if (writer->layout->columns[column].type == BLOCK_INTEGER) {
        given->value = next_value(supply);
        block_set(writer, column, given->value);
        return;
    }
    given->length = next(supply) % sizeof given->text;
    memset(given->text, 'a' + next(supply) % 16, given->length);
    if (writer->layout->columns[column].type == BLOCK_TEXT)
        block_set_text(writer, column, given->text);
    else
        block_set_bytes(writer, column, given->text, given->length);
}

static void check(const struct block_reader *reader, int column, size_t row, const struct given *given)
{
    enum block_type type = reader->layout->columns[column].type;
    require(reader->absent[column][row] == !given->present, "what is absent");
    if (!given->present)
        return;
    if (type == BLOCK_INTEGER) {
        require(reader->values[column][row] == given->value, "an integer");
    } else if (type == BLOCK_TEXT) {
        require(strcmp(block_text(reader, column, row), given->text) == 0, "a text");
    } else {
        size_t length;
        const void *bytes = block_bytes(reader, column, row, &length);
        require(length == given->length && memcmp(bytes, given->text, length) == 0, "bytes");
    }
}

/* Reads everything that can be read from a block, valid or not. */
static void read_all(const struct block_layout *layout, const void *block, size_t length)
{
    struct block_reader reader;
    int no_memory;
    block_reader_init(&reader, layout);
    int opened = block_open(&reader, block, length, &no_memory) == 0;
    volatile size_t seen = 0;
    for (int column = 0; opened && column < (int)layout->count; column++) {
        if (block_column(&reader, column, &no_memory))
            continue;
        for (size_t row = 0; row < reader.count; row++) {
            size_t bytes = 0;
            const char *text =
                layout->columns[column].type == BLOCK_TEXT ? block_text(&reader, column, row) : NULL;
            const char *blob = layout->columns[column].type == BLOCK_BYTES
                                   ? block_bytes(&reader, column, row, &bytes)
                                   : NULL;
            seen = seen + (text ? strlen(text) : 0) + (blob && bytes ? (size_t)blob[bytes - 1] : 0);
        }
    }
    block_reader_release(&reader);
}

static void check_all(const struct block_layout *layout, const struct buffer *block,
                      const struct given *given, size_t rows)
{
    struct block_reader reader;
    int no_memory;
    block_reader_init(&reader, layout);
    require(block_open(&reader, block->data, block->length, &no_memory) == 0, "its own block");
    require(reader.count == rows, "how many rows");
    for (int column = (int)layout->count - 1; column >= 0; column--) {
        require(block_column(&reader, column, &no_memory) == 0, "its own column");
        for (size_t row = 0; row < rows; row++)
            check(&reader, column, row, &given[row * BLOCK_COLUMNS + (size_t)column]);
    }
    block_reader_release(&reader);
}

/* Packs a block from the input, unpacks it, and unpacks it again with some bytes changed. */
static void make(struct supply *supply)
{
    static struct given given[BLOCK_ROWS * BLOCK_COLUMNS];
    const struct block_layout *layout = next_layout(supply);
    struct block_writer writer;
    struct buffer block = BUFFER_INIT;
    size_t rows = 1 + next(supply) % BLOCK_ROWS;
    require(block_writer_init(&writer, layout) == 0, "memory");
    for (size_t row = 0; row < rows; row++) {
        block_add_row(&writer);
        for (int column = 0; column < (int)layout->count; column++)
            give(supply, &writer, column, &given[row * BLOCK_COLUMNS + (size_t)column]);
    }
    require(block_pack(&writer, &block) == 0, "memory");
    check_all(layout, &block, given, rows);
    for (int changes = next(supply) % 8; changes >= 0; changes--) {
        size_t at = (size_t)next(supply) << 8 | next(supply);
        block.data[at % block.length] = (char)next(supply);
    }
    read_all(layout, block.data, block.length);
    buffer_release(&block);
    block_writer_release(&writer);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct supply supply = {bytes, bytes + length};
    if (next(&supply) % 2) {
        make(&supply);
    } else {
        const struct block_layout *layout = next_layout(&supply);
        read_all(layout, supply.at, (size_t)(supply.end - supply.at));
    }
    return 0;
}

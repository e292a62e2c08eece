/* The columns of a Parquet row group: dictionaries, bit packing, pages and column chunks. */
#include "base/base.h"
#include "model/model.h"
#include "output/output.h"
#include "output/parquet.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS_AT_FIRST = 64 };

void parquet_dictionary_init(struct parquet_dictionary *dictionary)
{
    *dictionary = (struct parquet_dictionary){.seed = hash_seed()};
}

void parquet_dictionary_release(struct parquet_dictionary *dictionary)
{
    buffer_release(&dictionary->bytes);
    free(dictionary->ends);
    free(dictionary->slots);
    parquet_dictionary_init(dictionary);
}

void parquet_dictionary_clear(struct parquet_dictionary *dictionary)
{
    buffer_clear(&dictionary->bytes);
    dictionary->count = 0;
    if (dictionary->slots)
        memset(dictionary->slots, 0, dictionary->slot_count * sizeof *dictionary->slots);
}

const char *parquet_dictionary_value(const struct parquet_dictionary *dictionary, uint32_t number,
                                     size_t *length)
{
    size_t begin = number ? dictionary->ends[number - 1] : 0;
    *length = dictionary->ends[number] - begin;
    return dictionary->bytes.data + begin;
}

static uint64_t hash_of(uint64_t seed, const char *bytes, size_t length)
{
    uint64_t hash = seed ^ length, word;
    for (; length >= sizeof word; bytes += sizeof word, length -= sizeof word) {
        memcpy(&word, bytes, sizeof word);
        hash = hash_mix(hash, word);
    }
    word = 0;
    memcpy(&word, bytes, length);
    return hash_mix(hash, word);
}

static int is_value(const struct parquet_dictionary *dictionary, uint32_t number, const char *bytes,
                    size_t length)
{
    size_t held_length;
    const char *held = parquet_dictionary_value(dictionary, number, &held_length);
    return held_length == length && memcmp(held, bytes, length) == 0;
}

/* The slot of a value, or the free slot for it. */
static uint32_t *find(const struct parquet_dictionary *dictionary, const char *bytes, size_t length)
{
    size_t mask = dictionary->slot_count - 1;
    size_t at = (size_t)hash_of(dictionary->seed, bytes, length) & mask;
    while (dictionary->slots[at] && !is_value(dictionary, dictionary->slots[at] - 1, bytes, length))
        at = (at + 1) & mask;
    return &dictionary->slots[at];
}

static int grow(struct parquet_dictionary *dictionary)
{
    size_t slot_count = dictionary->slot_count ? dictionary->slot_count * 2 : SLOTS_AT_FIRST;
    uint32_t *slots = calloc(slot_count, sizeof *slots);
    if (!slots)
        return -1;
    free(dictionary->slots);
    dictionary->slots = slots;
    dictionary->slot_count = slot_count;
    for (uint32_t i = 0; i < dictionary->count; i++) {
        size_t length;
        const char *bytes = parquet_dictionary_value(dictionary, i, &length);
        *find(dictionary, bytes, length) = i + 1;
    }
    return 0;
}

int64_t parquet_dictionary_put(struct parquet_dictionary *dictionary, const char *bytes, size_t length)
{
    if (dictionary->count && is_value(dictionary, dictionary->last, bytes, length))
        return dictionary->last;
    if ((dictionary->count + 1) * 2 > dictionary->slot_count && grow(dictionary))
        return -1;
    uint32_t *slot = find(dictionary, bytes, length);
    if (*slot == 0) {
        if (array_reserve((void **)&dictionary->ends, &dictionary->capacity, dictionary->count + 1,
                          sizeof *dictionary->ends) ||
            buffer_append(&dictionary->bytes, bytes, length))
            return -1;
        dictionary->ends[dictionary->count++] = dictionary->bytes.length;
        *slot = (uint32_t)dictionary->count;
    }
    dictionary->last = *slot - 1;
    return dictionary->last;
}

/* Bit-packed values come in groups of eight. A run shorter than a group costs more than packing it. */
enum { GROUP = 8 };

static int append_run(struct buffer *buffer, uint32_t value, size_t count, unsigned width)
{
    int failed = varint_put(buffer, (uint64_t)count << 1);
    for (unsigned bit = 0; bit < width && !failed; bit += 8)
        failed = buffer_append_byte(buffer, (char)(value >> bit & 0xff));
    return failed;
}

/*
 * Packs bits from the least significant bit of each byte on. The last group of eight is filled up with zeros.
 */
static int append_packed(struct buffer *buffer, const uint32_t *values, size_t count, unsigned width)
{
    if (count == 0)
        return 0;
    size_t groups = (count + GROUP - 1) / GROUP;
    if (varint_put(buffer, (uint64_t)groups << 1 | 1) || buffer_reserve(buffer, groups * width))
        return -1;
    uint64_t bits = 0;
    unsigned held = 0;
    for (size_t i = 0; i < groups * GROUP; i++) {
        bits |= (uint64_t)(i < count ? values[i] : 0) << held;
        for (held += width; held >= 8; held -= 8, bits >>= 8)
            buffer->data[buffer->length++] = (char)(bits & 0xff);
    }
    buffer->data[buffer->length] = '\0';
    return 0;
}

static size_t run_from(const uint32_t *values, size_t at, size_t count)
{
    size_t end = at + 1;
    while (end < count && values[end] == values[at])
        end++;
    return end - at;
}

int parquet_hybrid_append(struct buffer *buffer, const uint32_t *values, size_t count, unsigned width)
{
    size_t packed = 0; /* nothing from this index on is written yet */
    for (size_t at = 0; at < count;) {
        size_t run = run_from(values, at, count), filling = (GROUP - (at - packed) % GROUP) % GROUP;
        if (run < filling + GROUP) {
            at += run;
            continue;
        }
        if (append_packed(buffer, values + packed, at + filling - packed, width) ||
            append_run(buffer, values[at], run - filling, width))
            return -1;
        packed = at += run;
    }
    return append_packed(buffer, values + packed, count - packed, width);
}

unsigned parquet_hybrid_width(uint32_t greatest)
{
    unsigned width = 1;
    while (width < 32 && greatest >> width)
        width++;
    return width;
}

/*
 * A column of a row group in memory: its finished, compressed pages, and the page that is being filled. A
 * page ends at PARQUET_PAGE_ROWS rows, or when its values take PARQUET_PAGE_BYTES. The column uses a
 * dictionary while that saves space: not if most values of the first page are distinct, and no longer when
 * the dictionary exceeds PARQUET_DICTIONARY_BYTES.
 */
enum { PARQUET_PAGE_ROWS = 16384, PARQUET_PAGE_BYTES = 1 << 20, PARQUET_DICTIONARY_BYTES = 1 << 20 };

/* Fields of ColumnChunk and ColumnMetaData. */
enum { CHUNK_OFFSET = 2, CHUNK_METADATA = 3 };
enum {
    METADATA_TYPE = 1,
    METADATA_ENCODINGS = 2,
    METADATA_PATH = 3,
    METADATA_CODEC = 4,
    METADATA_VALUES = 5,
    METADATA_UNPACKED = 6,
    METADATA_PACKED = 7,
    METADATA_DATA_OFFSET = 9,
    METADATA_DICTIONARY_OFFSET = 11,
    METADATA_STATISTICS = 12
};

int32_t parquet_physical_type(enum cell_type type)
{
    enum { INT64 = 2, DOUBLE = 5, BYTE_ARRAY = 6 };
    return type == CELL_INTEGER ? INT64 : type == CELL_REAL ? DOUBLE : BYTE_ARRAY;
}

int parquet_column_init(struct parquet_column *column, const struct column *described,
                        struct parquet_press *press)
{
    *column = (struct parquet_column){.column = described, .press = press};
    parquet_dictionary_init(&column->dictionary);
    parquet_bounds_init(&column->bounds, described->type);
    column->page.levels = array_new(PARQUET_PAGE_ROWS, sizeof *column->page.levels);
    column->page.places = array_new(PARQUET_PAGE_ROWS, sizeof *column->page.places);
    return column->page.levels && column->page.places ? 0 : -1;
}

void parquet_column_release(struct parquet_column *column)
{
    free(column->page.levels);
    free(column->page.places);
    buffer_release(&column->page.plain);
    parquet_dictionary_release(&column->dictionary);
    buffer_release(&column->pages);
    buffer_release(&column->content);
    parquet_bounds_release(&column->bounds);
}

static void clear(struct parquet_column *column)
{
    parquet_dictionary_clear(&column->dictionary);
    parquet_bounds_clear(&column->bounds);
    buffer_clear(&column->pages);
    column->is_plain = column->dictionary_pages = 0;
    column->page.dictionary_from = 0;
    column->unpacked_bytes = 0;
    column->rows = column->nulls = 0;
}

/* Writes the values of the page directly, without the dictionary that only this page has used so far. */
static int leave_dictionary(struct parquet_column *column)
{
    for (size_t i = 0; i < column->page.values; i++) {
        size_t length;
        const char *bytes = parquet_dictionary_value(&column->dictionary, column->page.places[i], &length);
        if (buffer_append(&column->page.plain, bytes, length))
            return -1;
    }
    parquet_dictionary_clear(&column->dictionary);
    column->is_plain = 1;
    return 0;
}

static int append_levels(struct parquet_column *column)
{
    struct buffer *content = &column->content;
    size_t begin = content->length;
    if (buffer_append(content, "\0\0\0", PARQUET_LENGTH_BYTES) ||
        parquet_hybrid_append(content, column->page.levels, column->page.rows, 1))
        return -1;
    parquet_put(content->data + begin, content->length - begin - PARQUET_LENGTH_BYTES, PARQUET_LENGTH_BYTES);
    return 0;
}

static int append_places(struct parquet_column *column)
{
    unsigned width = parquet_hybrid_width((uint32_t)(column->dictionary.count - 1));
    return buffer_append_byte(&column->content, (char)width) ||
                   parquet_hybrid_append(&column->content, column->page.places, column->page.values, width)
               ? -1
               : 0;
}

/* A page that contains only nulls needs no dictionary. */
static int uses_dictionary(const struct parquet_column *column)
{
    return !column->is_plain && column->dictionary.count > 0;
}

static int fill_content(struct parquet_column *column)
{
    buffer_clear(&column->content);
    if (append_levels(column))
        return -1;
    if (uses_dictionary(column))
        return append_places(column);
    return column->page.plain.length
               ? buffer_append(&column->content, column->page.plain.data, column->page.plain.length)
               : 0;
}

static int end_page(struct parquet_column *column, struct error *error)
{
    if (column->page.rows == 0)
        return 0;
    if (!column->is_plain && column->dictionary_pages == 0 &&
        column->dictionary.count * 2 > column->page.values && leave_dictionary(column))
        return error_no_memory(error);
    if (fill_content(column))
        return error_no_memory(error);
    int by_dictionary = uses_dictionary(column);
    if (parquet_press_add(column->press, &column->pages, PARQUET_DATA_PAGE,
                          by_dictionary ? PARQUET_RLE_DICTIONARY : PARQUET_PLAIN, column->page.rows,
                          &column->content, &column->unpacked_bytes, error))
        return -1;
    column->dictionary_pages += by_dictionary;
    column->rows += (int64_t)column->page.rows;
    column->is_plain = column->is_plain || column->dictionary.bytes.length > PARQUET_DICTIONARY_BYTES;
    column->page.rows = column->page.values = 0;
    column->page.dictionary_from = column->dictionary.bytes.length;
    buffer_clear(&column->page.plain);
    return 0;
}

static int add_bound(struct parquet_column *column, const char *bytes, size_t length)
{
    size_t prefix = column->column->type == CELL_TEXT ? PARQUET_LENGTH_BYTES : 0;
    return parquet_bounds_add(&column->bounds, bytes + prefix, length - prefix);
}

/* Returns -1 when out of memory. */
static int add_value(struct parquet_column *column, const char *bytes, size_t length)
{
    if (column->is_plain)
        return add_bound(column, bytes, length) || buffer_append(&column->page.plain, bytes, length) ? -1 : 0;
    size_t known = column->dictionary.count;
    int64_t place = parquet_dictionary_put(&column->dictionary, bytes, length);
    if (place < 0)
        return -1;
    column->page.places[column->page.values] = (uint32_t)place;
    return column->dictionary.count > known ? add_bound(column, bytes, length) : 0;
}

static size_t page_bytes(const struct parquet_column *column)
{
    return column->page.plain.length + column->dictionary.bytes.length - column->page.dictionary_from;
}

int parquet_column_add(struct parquet_column *column, const char *bytes, size_t length, struct error *error)
{
    if (bytes && add_value(column, bytes, length))
        return error_no_memory(error);
    column->page.levels[column->page.rows++] = bytes != NULL;
    column->page.values += bytes != NULL;
    column->nulls += bytes == NULL;
    return column->page.rows == PARQUET_PAGE_ROWS || page_bytes(column) >= PARQUET_PAGE_BYTES
               ? end_page(column, error)
               : 0;
}

static void write_encodings(const struct parquet_column *column, struct thrift *columns)
{
    thrift_list(columns, METADATA_ENCODINGS, THRIFT_I32, column->dictionary_pages ? 3 : 2);
    thrift_element_i32(columns, PARQUET_PLAIN); /* also the encoding of the dictionary */
    thrift_element_i32(columns, PARQUET_RLE);
    if (column->dictionary_pages)
        thrift_element_i32(columns, PARQUET_RLE_DICTIONARY);
}

/* The chunk begins at offset `begin`. Its dictionary page takes `dictionary_bytes` of its `bytes`. */
static void write_metadata(const struct parquet_column *column, struct thrift *columns, uint64_t begin,
                           uint64_t dictionary_bytes, uint64_t bytes)
{
    thrift_begin(columns);
    thrift_i64(columns, CHUNK_OFFSET, 0);
    thrift_struct(columns, CHUNK_METADATA);
    thrift_i32(columns, METADATA_TYPE, parquet_physical_type(column->column->type));
    write_encodings(column, columns);
    thrift_list(columns, METADATA_PATH, THRIFT_BINARY, 1);
    thrift_element_text(columns, column->column->name);
    thrift_i32(columns, METADATA_CODEC, (int32_t)parquet_press_codec(column->press));
    thrift_i64(columns, METADATA_VALUES, column->rows);
    thrift_i64(columns, METADATA_UNPACKED, (int64_t)column->unpacked_bytes);
    thrift_i64(columns, METADATA_PACKED, (int64_t)bytes);
    thrift_i64(columns, METADATA_DATA_OFFSET, (int64_t)(begin + dictionary_bytes));
    if (column->dictionary_pages)
        thrift_i64(columns, METADATA_DICTIONARY_OFFSET, (int64_t)begin);
    parquet_bounds_write(&column->bounds, columns, METADATA_STATISTICS, column->nulls);
    thrift_end(columns);
    thrift_end(columns);
}

/* Writes the dictionary page, which comes before the pages that refer to it. */
static int write_dictionary(struct parquet_column *column, struct output *output, struct error *error)
{
    buffer_clear(&column->content);
    return !column->dictionary_pages
               ? 0
               : parquet_press_add(column->press, &column->content, PARQUET_DICTIONARY_PAGE, PARQUET_PLAIN,
                                   column->dictionary.count, &column->dictionary.bytes,
                                   &column->unpacked_bytes, error) ||
                     output_write(output, column->content.data, column->content.length, error);
}

int parquet_column_write(struct parquet_column *column, struct output *output, struct thrift *columns,
                         uint64_t *unpacked_bytes, uint64_t *packed_bytes, struct error *error)
{
    uint64_t begin = output_bytes(output);
    if (end_page(column, error) || write_dictionary(column, output, error))
        return -1;
    uint64_t data = output_bytes(output);
    if (output_write(output, column->pages.data, column->pages.length, error))
        return -1;
    uint64_t bytes = output_bytes(output) - begin;
    write_metadata(column, columns, begin, data - begin, bytes);
    *unpacked_bytes += column->unpacked_bytes;
    *packed_bytes += bytes;
    clear(column);
    return 0;
}

/*
 * The parts of a Parquet file: Thrift's compact protocol, pages and their headers, and bounds of columns.
 * parquet_column.c makes the columns; lib/report/export_parquet.c makes the file.
 */
#include "output/parquet.h"
#include "base/base.h"
#include "model/model.h"
#include "output/internal.h"
#include "output/output.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

void thrift_init(struct thrift *thrift)
{
    *thrift = (struct thrift){.bytes = BUFFER_INIT};
}

void thrift_release(struct thrift *thrift)
{
    buffer_release(&thrift->bytes);
}

void thrift_clear(struct thrift *thrift)
{
    buffer_clear(&thrift->bytes);
    thrift->failed = 0;
    thrift->depth = 0;
}

static void append(struct thrift *thrift, const void *bytes, size_t length)
{
    thrift->failed = thrift->failed || buffer_append(&thrift->bytes, bytes, length);
}

static void append_byte(struct thrift *thrift, unsigned value)
{
    thrift->failed = thrift->failed || buffer_append_byte(&thrift->bytes, (char)value);
}

static void append_varint(struct thrift *thrift, uint64_t value)
{
    thrift->failed = thrift->failed || varint_put(&thrift->bytes, value);
}

/* Zigzag encoding: numbers near 0 are short, positive or negative. */
static void append_zigzag(struct thrift *thrift, int64_t value)
{
    thrift->failed = thrift->failed || varint_put_signed(&thrift->bytes, value);
}

static void append_bytes(struct thrift *thrift, const void *bytes, size_t length)
{
    append_varint(thrift, length);
    append(thrift, bytes, length);
}

/*
 * Writes the header of a field: the difference to the previous field number, in the same byte as the type if
 * it fits.
 */
static void append_field(struct thrift *thrift, int field, enum thrift_type type)
{
    int *last = &thrift->number[thrift->depth - 1], beyond = field - *last;
    *last = field;
    if (beyond >= 1 && beyond <= 15) {
        append_byte(thrift, (unsigned)beyond << 4 | type);
    } else {
        append_byte(thrift, type);
        append_zigzag(thrift, field);
    }
}

void thrift_begin(struct thrift *thrift)
{
    thrift->number[thrift->depth++] = 0;
}

void thrift_end(struct thrift *thrift)
{
    thrift->depth--;
    append_byte(thrift, 0);
}

void thrift_i32(struct thrift *thrift, int field, int32_t value)
{
    append_field(thrift, field, THRIFT_I32);
    append_zigzag(thrift, value);
}

void thrift_i64(struct thrift *thrift, int field, int64_t value)
{
    append_field(thrift, field, THRIFT_I64);
    append_zigzag(thrift, value);
}

static void thrift_binary(struct thrift *thrift, int field, const void *bytes, size_t length)
{
    append_field(thrift, field, THRIFT_BINARY);
    append_bytes(thrift, bytes, length);
}

void thrift_text(struct thrift *thrift, int field, const char *text)
{
    thrift_binary(thrift, field, text, strlen(text));
}

void thrift_struct(struct thrift *thrift, int field)
{
    append_field(thrift, field, THRIFT_STRUCT);
    thrift_begin(thrift);
}

void thrift_list(struct thrift *thrift, int field, enum thrift_type type, size_t count)
{
    append_field(thrift, field, THRIFT_LIST);
    append_byte(thrift, (unsigned)(count < 15 ? count : 15) << 4 | type);
    if (count >= 15)
        append_varint(thrift, count);
}

void thrift_element_i32(struct thrift *thrift, int32_t value)
{
    append_zigzag(thrift, value);
}

void thrift_element_text(struct thrift *thrift, const char *text)
{
    append_bytes(thrift, text, strlen(text));
}

void thrift_elements(struct thrift *thrift, const struct thrift *written)
{
    thrift->failed = thrift->failed || written->failed;
    if (written->bytes.length)
        append(thrift, written->bytes.data, written->bytes.length);
}

/* Fields of PageHeader, and of the headers within it. */
enum { PAGE_KIND = 1, PAGE_UNPACKED = 2, PAGE_PACKED = 3, PAGE_DATA = 5, PAGE_DICTIONARY = 7 };
enum { HEADER_VALUES = 1, HEADER_ENCODING = 2, HEADER_DEFINITION = 3, HEADER_REPETITION = 4 };

int parquet_press_init(struct parquet_press *press, int is_compressed, struct error *error)
{
    *press = (struct parquet_press){.gzip = NULL};
    thrift_init(&press->header);
    if (!is_compressed)
        return 0;
    press->gzip = gzip_new(error);
    return press->gzip ? 0 : -1;
}

void parquet_press_release(struct parquet_press *press)
{
    gzip_free(press->gzip);
    buffer_release(&press->packed);
    thrift_release(&press->header);
}

enum parquet_codec parquet_press_codec(const struct parquet_press *press)
{
    return press->gzip ? PARQUET_GZIP : PARQUET_UNCOMPRESSED;
}

static void write_header(struct thrift *header, enum parquet_page_kind kind, enum parquet_encoding encoding,
                         size_t count, size_t unpacked, size_t packed)
{
    thrift_clear(header);
    thrift_begin(header);
    thrift_i32(header, PAGE_KIND, (int32_t)kind);
    thrift_i32(header, PAGE_UNPACKED, (int32_t)unpacked);
    thrift_i32(header, PAGE_PACKED, (int32_t)packed);
    thrift_struct(header, kind == PARQUET_DATA_PAGE ? PAGE_DATA : PAGE_DICTIONARY);
    thrift_i32(header, HEADER_VALUES, (int32_t)count);
    thrift_i32(header, HEADER_ENCODING, (int32_t)encoding);
    if (kind == PARQUET_DATA_PAGE) {
        thrift_i32(header, HEADER_DEFINITION, PARQUET_RLE);
        thrift_i32(header, HEADER_REPETITION, PARQUET_RLE);
    }
    thrift_end(header);
    thrift_end(header);
}

int parquet_press_add(struct parquet_press *press, struct buffer *pages, enum parquet_page_kind kind,
                      enum parquet_encoding encoding, size_t count, const struct buffer *content,
                      uint64_t *unpacked_bytes, struct error *error)
{
    const struct buffer *stored = content;
    if (content->length > INT32_MAX)
        return error_set(error, "a page of %zu bytes exceeds the limit of Parquet", content->length);
    buffer_clear(&press->packed);
    if (press->gzip) {
        if (gzip_pack(press->gzip, content->data, content->length, &press->packed, error))
            return -1;
        stored = &press->packed;
    }
    if (stored->length > INT32_MAX)
        return error_set(error, "a page of %zu bytes exceeds the limit of Parquet", stored->length);
    write_header(&press->header, kind, encoding, count, content->length, stored->length);
    if (press->header.failed || buffer_append(pages, press->header.bytes.data, press->header.bytes.length) ||
        buffer_append(pages, stored->data, stored->length))
        return error_no_memory(error);
    *unpacked_bytes += press->header.bytes.length + content->length;
    return 0;
}

static inline uint64_t parquet_get(const char *bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < PARQUET_NUMBER_BYTES; i++)
        value |= (uint64_t)(unsigned char)bytes[i] << 8 * i;
    return value;
}

static inline double parquet_real_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Fields of Statistics. */
enum { FIELD_NULLS = 3, FIELD_GREATEST = 5, FIELD_LEAST = 6 };

void parquet_bounds_init(struct parquet_bounds *bounds, enum cell_type type)
{
    *bounds = (struct parquet_bounds){.type = type};
}

void parquet_bounds_release(struct parquet_bounds *bounds)
{
    buffer_release(&bounds->least);
    buffer_release(&bounds->greatest);
}

void parquet_bounds_clear(struct parquet_bounds *bounds)
{
    bounds->state = PARQUET_BOUNDS_NONE;
}

static int keep(struct buffer *bound, const char *bytes, size_t length)
{
    buffer_clear(bound);
    return buffer_append(bound, bytes, length);
}

/*
 * Both zeros compare equal, so the bounds are widened to include either (-0.0 as minimum, +0.0 as maximum).
 */
static int keep_real(struct buffer *bound, double value, double zero)
{
    char bytes[PARQUET_NUMBER_BYTES];
    parquet_put(bytes, parquet_bits_of(value == 0 ? zero : value), PARQUET_NUMBER_BYTES);
    return keep(bound, bytes, sizeof bytes);
}

static int add_real(struct parquet_bounds *bounds, const char *bytes, int is_first)
{
    double value = parquet_real_of(parquet_get(bytes));
    if (isnan(value)) {
        bounds->state = PARQUET_BOUNDS_UNKNOWN;
        return 0;
    }
    if ((is_first || value < parquet_real_of(parquet_get(bounds->least.data))) &&
        keep_real(&bounds->least, value, -0.0))
        return -1;
    if ((is_first || value > parquet_real_of(parquet_get(bounds->greatest.data))) &&
        keep_real(&bounds->greatest, value, 0.0))
        return -1;
    return 0;
}

static int add_integer(struct parquet_bounds *bounds, const char *bytes, int is_first)
{
    int64_t value = (int64_t)parquet_get(bytes);
    if ((is_first || value < (int64_t)parquet_get(bounds->least.data)) &&
        keep(&bounds->least, bytes, PARQUET_NUMBER_BYTES))
        return -1;
    if ((is_first || value > (int64_t)parquet_get(bounds->greatest.data)) &&
        keep(&bounds->greatest, bytes, PARQUET_NUMBER_BYTES))
        return -1;
    return 0;
}

/* UTF-8 sorts byte by byte. */
static int compare(const char *bytes, size_t length, const struct buffer *bound)
{
    size_t shorter = length < bound->length ? length : bound->length;
    int order = memcmp(bytes, bound->data, shorter);
    return order ? order : (length > bound->length) - (length < bound->length);
}

static int add_text(struct parquet_bounds *bounds, const char *bytes, size_t length, int is_first)
{
    if (length > PARQUET_BOUND_BYTES) {
        bounds->state = PARQUET_BOUNDS_UNKNOWN;
        return 0;
    }
    if ((is_first || compare(bytes, length, &bounds->least) < 0) && keep(&bounds->least, bytes, length))
        return -1;
    if ((is_first || compare(bytes, length, &bounds->greatest) > 0) && keep(&bounds->greatest, bytes, length))
        return -1;
    return 0;
}

int parquet_bounds_add(struct parquet_bounds *bounds, const char *bytes, size_t length)
{
    if (bounds->state == PARQUET_BOUNDS_UNKNOWN)
        return 0;
    int is_first = bounds->state == PARQUET_BOUNDS_NONE;
    bounds->state = PARQUET_BOUNDS_KNOWN;
    switch (bounds->type) {
    case CELL_INTEGER:
        return add_integer(bounds, bytes, is_first);
    case CELL_REAL:
        return add_real(bounds, bytes, is_first);
    default:
        return add_text(bounds, bytes, length, is_first);
    }
}

void parquet_bounds_write(const struct parquet_bounds *bounds, struct thrift *thrift, int field,
                          int64_t nulls)
{
    thrift_struct(thrift, field);
    thrift_i64(thrift, FIELD_NULLS, nulls);
    if (bounds->state == PARQUET_BOUNDS_KNOWN) {
        thrift_binary(thrift, FIELD_GREATEST, bounds->greatest.data, bounds->greatest.length);
        thrift_binary(thrift, FIELD_LEAST, bounds->least.data, bounds->least.length);
    }
    thrift_end(thrift);
}

#include "export/parquet_page.h"

#include "output/gzip.h"

/* Fields of PageHeader, and of the headers in it. */
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

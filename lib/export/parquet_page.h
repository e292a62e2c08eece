#ifndef NCCLPROF_EXPORT_PARQUET_PAGE_H
#define NCCLPROF_EXPORT_PARQUET_PAGE_H

#include "base/buffer.h"
#include "base/error.h"
#include "export/thrift.h"

#include <stddef.h>
#include <stdint.h>

struct gzip;

enum parquet_page_kind { PARQUET_DATA_PAGE = 0, PARQUET_DICTIONARY_PAGE = 2 };
enum parquet_encoding { PARQUET_PLAIN = 0, PARQUET_RLE = 3, PARQUET_RLE_DICTIONARY = 8 };
enum parquet_codec { PARQUET_UNCOMPRESSED = 0, PARQUET_GZIP = 2 };

/* What makes pages, one after the other; all columns of a file share it. */
struct parquet_press {
    struct gzip *gzip;    /* NULL: pages are not compressed. Owned */
    struct buffer packed; /* room to work in */
    struct thrift header;
};

/* -1 with an error; to be released either way. */
int parquet_press_init(struct parquet_press *press, int is_compressed, struct error *error);
void parquet_press_release(struct parquet_press *press);

enum parquet_codec parquet_press_codec(const struct parquet_press *press);

/*
 * Appends a page of `count` values, nulls included, to `pages`: its header and `content`. *unpacked_bytes
 * grows by what it takes before compression, its header included.
 */
int parquet_press_add(struct parquet_press *press, struct buffer *pages, enum parquet_page_kind kind,
                      enum parquet_encoding encoding, size_t count, const struct buffer *content,
                      uint64_t *unpacked_bytes, struct error *error);

#endif

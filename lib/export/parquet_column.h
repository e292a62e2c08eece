#ifndef NCCLPROF_EXPORT_PARQUET_COLUMN_H
#define NCCLPROF_EXPORT_PARQUET_COLUMN_H

#include "base/buffer.h"
#include "base/error.h"
#include "export/parquet_bounds.h"
#include "export/parquet_dictionary.h"
#include "export/parquet_page.h"
#include "export/thrift.h"
#include "model/table.h"

#include <stddef.h>
#include <stdint.h>

struct output;

/*
 * A column of a row group in memory: finished pages, compressed, and the one that is being filled. A page
 * ends at PARQUET_PAGE_ROWS rows, or when its values take PARQUET_PAGE_BYTES. Values stand in a dictionary
 * while that pays: not where most in the first page come once, and no longer when the dictionary has grown
 * beyond PARQUET_DICTIONARY_BYTES.
 */
enum { PARQUET_PAGE_ROWS = 16384, PARQUET_PAGE_BYTES = 1 << 20, PARQUET_DICTIONARY_BYTES = 1 << 20 };

struct parquet_column {
    const struct column *column;
    struct parquet_press *press;
    struct {
        uint32_t *levels; /* owned; of each row: 1, or 0 for null */
        uint32_t *places; /* owned; of each value in the dictionary */
        size_t rows;
        size_t values;
        struct buffer plain;    /* the values, where there is no dictionary */
        size_t dictionary_from; /* bytes of the dictionary as the page began */
    } page;
    struct parquet_dictionary dictionary;
    int is_plain;         /* values go to no dictionary any more */
    int dictionary_pages; /* so many of the pages use it */
    struct buffer pages;
    struct buffer content; /* of a page: room to work in */
    uint64_t unpacked_bytes;
    int64_t rows; /* of the row group in finished pages */
    int64_t nulls;
    struct parquet_bounds bounds;
};

/* Parquet's number of the type that a column's values are stored as. */
int32_t parquet_physical_type(enum cell_type type);

/* `described` and `press` are borrowed for its life. -1 when memory is out; to be released either way. */
int parquet_column_init(struct parquet_column *column, const struct column *described,
                        struct parquet_press *press);
void parquet_column_release(struct parquet_column *column);

/* The next row's value, as encoding PLAIN has it; NULL: there is none. */
int parquet_column_add(struct parquet_column *column, const char *bytes, size_t length, struct error *error);

/*
 * Writes the column chunk, says so in the next element of the row group's list of columns, and empties it for
 * the next row group. The sizes of its pages are added to the two sums.
 */
int parquet_column_write(struct parquet_column *column, struct output *output, struct thrift *columns,
                         uint64_t *unpacked_bytes, uint64_t *packed_bytes, struct error *error);

#endif

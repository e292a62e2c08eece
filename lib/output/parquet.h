#ifndef NCCLPROF_OUTPUT_PARQUET_H
#define NCCLPROF_OUTPUT_PARQUET_H

#include "model/model.h"

#include <stddef.h>
#include <stdint.h>

struct parquet_bounds;
struct parquet_dictionary;
struct parquet_press;
struct thrift;

/* -------------------- parquet.c -------------------- */

/* Empties it; the memory is kept for the next use. */
void thrift_clear(struct thrift *thrift);

void thrift_element_i32(struct thrift *thrift, int32_t value);
void thrift_element_text(struct thrift *thrift, const char *text);

enum parquet_page_kind { PARQUET_DATA_PAGE = 0, PARQUET_DICTIONARY_PAGE = 2 };
enum parquet_encoding { PARQUET_PLAIN = 0, PARQUET_RLE = 3, PARQUET_RLE_DICTIONARY = 8 };
enum parquet_codec { PARQUET_UNCOMPRESSED = 0, PARQUET_GZIP = 2 };

enum parquet_codec parquet_press_codec(const struct parquet_press *press);

/*
 * Appends a page of `count` values, nulls included, to `pages`: its header and `content`. *unpacked_bytes
 * grows by what it takes before compression, its header included.
 */
int parquet_press_add(struct parquet_press *press, struct buffer *pages, enum parquet_page_kind kind,
                      enum parquet_encoding encoding, size_t count, const struct buffer *content,
                      uint64_t *unpacked_bytes, struct error *error);

/*
 * The least and the greatest value of a column chunk, by which engines leave row groups out. They are exact,
 * or not told: of texts where one is longer than PARQUET_BOUND_BYTES, of reals where one is no number.
 */
enum { PARQUET_BOUND_BYTES = 256 };

void parquet_bounds_init(struct parquet_bounds *bounds, enum cell_type type);
void parquet_bounds_release(struct parquet_bounds *bounds);

/* Forgets all values; the memory is kept for the next use. */
void parquet_bounds_clear(struct parquet_bounds *bounds);

/* A value, encoded likewise. -1 when memory is out. */
int parquet_bounds_add(struct parquet_bounds *bounds, const char *bytes, size_t length);

/* As a Statistics, which is field `field` of the struct that is open. */
void parquet_bounds_write(const struct parquet_bounds *bounds, struct thrift *thrift, int field,
                          int64_t nulls);

/* -------------------- parquet_column.c -------------------- */

void parquet_dictionary_init(struct parquet_dictionary *dictionary);
void parquet_dictionary_release(struct parquet_dictionary *dictionary);

/* Empties it; the memory is kept for the next use. */
void parquet_dictionary_clear(struct parquet_dictionary *dictionary);

/* The number of a value, which is copied when it is new; -1 when memory is out. */
int64_t parquet_dictionary_put(struct parquet_dictionary *dictionary, const char *bytes, size_t length);

/* The value of that number. Borrowed until the next put. */
const char *parquet_dictionary_value(const struct parquet_dictionary *dictionary, uint32_t number,
                                     size_t *length);

/*
 * Parquet's hybrid of runs and packed bits, for definition levels and places in a dictionary: a value that
 * comes often in a row once, others in `width` bits each. Values are below 2^width, width is 1 to 32, and
 * there are less than 2^31 of them. -1 when memory is out.
 */
int parquet_hybrid_append(struct buffer *buffer, const uint32_t *values, size_t count, unsigned width);

/* Bits that numbers from 0 to `greatest` take: at least 1. */
unsigned parquet_hybrid_width(uint32_t greatest);

#endif

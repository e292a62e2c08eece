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

/* Empties it and keeps the memory for reuse. */
void thrift_clear(struct thrift *thrift);

void thrift_element_i32(struct thrift *thrift, int32_t value);
void thrift_element_text(struct thrift *thrift, const char *text);

enum parquet_page_kind { PARQUET_DATA_PAGE = 0, PARQUET_DICTIONARY_PAGE = 2 };
enum parquet_encoding { PARQUET_PLAIN = 0, PARQUET_RLE = 3, PARQUET_RLE_DICTIONARY = 8 };
enum parquet_codec { PARQUET_UNCOMPRESSED = 0, PARQUET_GZIP = 2 };

enum parquet_codec parquet_press_codec(const struct parquet_press *press);

/*
 * Appends a page of `count` values, including nulls, to `pages`: its header and `content`. Adds the
 * uncompressed size, including the header, to *unpacked_bytes.
 */
int parquet_press_add(struct parquet_press *press, struct buffer *pages, enum parquet_page_kind kind,
                      enum parquet_encoding encoding, size_t count, const struct buffer *content,
                      uint64_t *unpacked_bytes, struct error *error);

/*
 * The minimum and maximum of a column chunk, by which query engines skip row groups. They are exact or
 * omitted: omitted for texts longer than PARQUET_BOUND_BYTES, and if a real value is NaN.
 */
enum { PARQUET_BOUND_BYTES = 256 };

void parquet_bounds_init(struct parquet_bounds *bounds, enum cell_type type);
void parquet_bounds_release(struct parquet_bounds *bounds);

/* Forgets all values and keeps the memory for reuse. */
void parquet_bounds_clear(struct parquet_bounds *bounds);

/* Adds a value in PLAIN encoding. Returns -1 when out of memory. */
int parquet_bounds_add(struct parquet_bounds *bounds, const char *bytes, size_t length);

/* Writes the bounds as a Statistics struct in field `field` of the open struct. */
void parquet_bounds_write(const struct parquet_bounds *bounds, struct thrift *thrift, int field,
                          int64_t nulls);

/* -------------------- parquet_column.c -------------------- */

void parquet_dictionary_init(struct parquet_dictionary *dictionary);
void parquet_dictionary_release(struct parquet_dictionary *dictionary);

/* Empties it and keeps the memory for reuse. */
void parquet_dictionary_clear(struct parquet_dictionary *dictionary);

/* The number of a value, which is copied if it is new; -1 when out of memory. */
int64_t parquet_dictionary_put(struct parquet_dictionary *dictionary, const char *bytes, size_t length);

/* The value of a number. Borrowed until the next parquet_dictionary_put. */
const char *parquet_dictionary_value(const struct parquet_dictionary *dictionary, uint32_t number,
                                     size_t *length);

/*
 * Appends values in Parquet's hybrid of run-length encoding and bit packing, used for definition levels and
 * dictionary indexes: a repeated value once, others in `width` bits each. Values must be below 2^width, width
 * is 1 to 32, and there must be less than 2^31 values. Returns -1 when out of memory.
 */
int parquet_hybrid_append(struct buffer *buffer, const uint32_t *values, size_t count, unsigned width);

/* The number of bits for numbers from 0 to `greatest`, at least 1. */
unsigned parquet_hybrid_width(uint32_t greatest);

#endif

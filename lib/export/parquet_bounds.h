#ifndef NCCLPROF_EXPORT_PARQUET_BOUNDS_H
#define NCCLPROF_EXPORT_PARQUET_BOUNDS_H

#include "base/buffer.h"
#include "export/thrift.h"
#include "model/table.h"

#include <stddef.h>

/*
 * The least and the greatest value of a column chunk, by which engines leave row groups out. They are exact,
 * or not told: of texts where one is longer than PARQUET_BOUND_BYTES, of reals where one is no number.
 */
enum { PARQUET_BOUND_BYTES = 256 };

struct parquet_bounds {
    enum cell_type type;
    enum { PARQUET_BOUNDS_NONE, PARQUET_BOUNDS_KNOWN, PARQUET_BOUNDS_UNKNOWN } state;
    struct buffer least; /* encoded, a text without its length */
    struct buffer greatest;
};

void parquet_bounds_init(struct parquet_bounds *bounds, enum cell_type type);
void parquet_bounds_release(struct parquet_bounds *bounds);

/* Forgets all values; the memory is kept for the next use. */
void parquet_bounds_clear(struct parquet_bounds *bounds);

/* A value, encoded likewise. -1 when memory is out. */
int parquet_bounds_add(struct parquet_bounds *bounds, const char *bytes, size_t length);

/* As a Statistics, which is field `field` of the struct that is open. */
void parquet_bounds_write(const struct parquet_bounds *bounds, struct thrift *thrift, int field,
                          int64_t nulls);

#endif

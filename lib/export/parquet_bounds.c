#include "export/parquet_bounds.h"

#include "export/parquet_value.h"

#include <math.h>
#include <string.h>

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

/* Both zeros count as one: readers are to find either within the bounds. */
static int keep_real(struct buffer *bound, double value, double zero)
{
    char bytes[PARQUET_NUMBER_BYTES];
    parquet_put(bytes, parquet_bits_of(value == 0 ? zero : value), PARQUET_NUMBER_BYTES);
    return keep(bound, bytes, sizeof bytes);
}

static int add_real(struct parquet_bounds *bounds, const char *bytes, int is_first)
{
    double value = parquet_real_of(parquet_get(bytes, PARQUET_NUMBER_BYTES));
    if (isnan(value)) {
        bounds->state = PARQUET_BOUNDS_UNKNOWN;
        return 0;
    }
    if ((is_first || value < parquet_real_of(parquet_get(bounds->least.data, PARQUET_NUMBER_BYTES))) &&
        keep_real(&bounds->least, value, -0.0))
        return -1;
    if ((is_first || value > parquet_real_of(parquet_get(bounds->greatest.data, PARQUET_NUMBER_BYTES))) &&
        keep_real(&bounds->greatest, value, 0.0))
        return -1;
    return 0;
}

static int add_integer(struct parquet_bounds *bounds, const char *bytes, int is_first)
{
    int64_t value = (int64_t)parquet_get(bytes, PARQUET_NUMBER_BYTES);
    if ((is_first || value < (int64_t)parquet_get(bounds->least.data, PARQUET_NUMBER_BYTES)) &&
        keep(&bounds->least, bytes, PARQUET_NUMBER_BYTES))
        return -1;
    if ((is_first || value > (int64_t)parquet_get(bounds->greatest.data, PARQUET_NUMBER_BYTES)) &&
        keep(&bounds->greatest, bytes, PARQUET_NUMBER_BYTES))
        return -1;
    return 0;
}

/* UTF-8 is in order byte by byte. */
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

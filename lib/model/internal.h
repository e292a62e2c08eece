#ifndef NCCLPROF_MODEL_INTERNAL_H
#define NCCLPROF_MODEL_INTERNAL_H

#include "model/model.h"

#include <stddef.h>
#include <stdint.h>

/* -------------------- table.c -------------------- */

int table_set_json(struct table *table, size_t column, const char *json, struct error *error);

/* -------------------- column.c -------------------- */

/* Appends the packed form of `count` values; values[i] is absent if absent[i] is set. -1 if memory is out. */
int column_pack(struct buffer *buffer, const int64_t *values, const uint8_t *absent, size_t count);

/*
 * Unpacks a column of `count` rows, which must use all `length` bytes; absent values become 0. -1 if the
 * bytes are not a valid column; the arrays then hold anything.
 */
int column_unpack(const void *bytes, size_t length, size_t count, int64_t *values, uint8_t *absent);

/* Whether the packed column is one without a value. */
int column_is_absent(const void *bytes, size_t length);

static inline char *varint_write_signed(char *at, int64_t value)
{
    return varint_write(at, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

static inline int varint_get_signed(const unsigned char **at, const unsigned char *end, int64_t *value)
{
    uint64_t folded;
    if (varint_get(at, end, &folded))
        return -1;
    *value = (int64_t)(folded >> 1 ^ (folded & 1 ? UINT64_MAX : 0));
    return 0;
}

#endif

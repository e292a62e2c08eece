#ifndef NCCLPROF_MODEL_COLUMN_H
#define NCCLPROF_MODEL_COLUMN_H

#include "base/buffer.h"

#include <stddef.h>
#include <stdint.h>

/*
 * A short column of 64-bit integers, some of them perhaps absent, as bytes: the offsets from the least value,
 * or from the least step between neighbours, all of the fewest bytes that hold the greatest one. Every value
 * comes back exactly. Kept in stores, so the form never changes; a new one would have another number.
 *
 *     byte         form: 0 nothing present, 1 offsets, 2 differences; + 4: a bitmap of what is absent
 * follows;
 *                  + 16 x the bytes of each offset (0 to 8)
 *     [bitmap]     a bit a row, the least first, set where the value is absent
 *     numbers      form 1: the least value; form 2: the first value and the least difference (varint.h)
 *     offsets      of what is present, little-endian; form 2 has one less
 */

/* Rows of a column at most. */
enum { COLUMN_ROWS = 256 };

/* Appends `count` values; absent[i] is true where values[i] says nothing. -1 when memory is out. */
int column_pack(struct buffer *buffer, const int64_t *values, const uint8_t *absent, size_t count);

/*
 * Reads the column of `count` rows that fills the bytes exactly; absent values come as 0. -1 when the bytes
 * were not made here: what stands in the arrays is then anything.
 */
int column_unpack(const void *bytes, size_t length, size_t count, int64_t *values, uint8_t *absent);

#endif

#ifndef NCCLPROF_EXPORT_PARQUET_HYBRID_H
#define NCCLPROF_EXPORT_PARQUET_HYBRID_H

#include "base/buffer.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Parquet's hybrid of runs and packed bits, for definition levels and places in a dictionary: a value that
 * comes often in a row once, others in `width` bits each. Values are below 2^width, width is 1 to 32, and
 * there are less than 2^31 of them. -1 when memory is out.
 */
int parquet_hybrid_append(struct buffer *buffer, const uint32_t *values, size_t count, unsigned width);

/* Bits that numbers from 0 to `greatest` take: at least 1. */
unsigned parquet_hybrid_width(uint32_t greatest);

#endif

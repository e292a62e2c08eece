#ifndef NCCLPROF_EXPORT_PARQUET_VALUE_H
#define NCCLPROF_EXPORT_PARQUET_VALUE_H

#include <stdint.h>
#include <string.h>

/* Numbers as encoding PLAIN has them: little endian. */
enum { PARQUET_NUMBER_BYTES = 8, PARQUET_LENGTH_BYTES = 4 };

static inline void parquet_put(char *bytes, uint64_t value, int count)
{
    for (int i = 0; i < count; i++)
        bytes[i] = (char)(value >> 8 * i & 0xff);
}

static inline uint64_t parquet_get(const char *bytes, int count)
{
    uint64_t value = 0;
    for (int i = 0; i < count; i++)
        value |= (uint64_t)(unsigned char)bytes[i] << 8 * i;
    return value;
}

static inline uint64_t parquet_bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double parquet_real_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif

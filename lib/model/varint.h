#ifndef NCCLPROF_MODEL_VARINT_H
#define NCCLPROF_MODEL_VARINT_H

#include "base/buffer.h"

#include <stdint.h>

/*
 * Numbers as little-endian base-128: seven bits a byte, the least first, the top bit set on all but the last.
 * Signed ones are folded (0, -1, 1, -2 ...). Putting returns -1 when memory is out. Getting moves *at past
 * the number, never beyond `end`, and returns -1 where none stands.
 */
int varint_put(struct buffer *buffer, uint64_t value);
int varint_put_signed(struct buffer *buffer, int64_t value);

/* The same into memory that has room for VARINT_BYTES; returns where the number ends. */
enum { VARINT_BYTES = 10 };
static inline char *varint_write(char *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (char)(0x80 | (value & 0x7f));
    *at++ = (char)value;
    return at;
}

static inline char *varint_write_signed(char *at, int64_t value)
{
    return varint_write(at, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

/* Byte by byte: near the end, and what has more than eight of them. */
int varint_get_slowly(const unsigned char **at, const unsigned char *end, uint64_t *value);

/* Eight bytes at once, as they are read seven times for each network step. */
static inline int varint_get(const unsigned char **at, const unsigned char *end, uint64_t *value)
{
    const unsigned char *next = *at;
    if (end - next < 8)
        return varint_get_slowly(at, end, value);
    uint64_t bytes = (uint64_t)next[0] | (uint64_t)next[1] << 8 | (uint64_t)next[2] << 16 |
                     (uint64_t)next[3] << 24 | (uint64_t)next[4] << 32 | (uint64_t)next[5] << 40 |
                     (uint64_t)next[6] << 48 | (uint64_t)next[7] << 56;
    uint64_t last = ~bytes & 0x8080808080808080U;
    if (!last)
        return varint_get_slowly(at, end, value);
    /* All bits up to that of the last byte, and then groups of 7, 14 and 28 bits next to each other. */
    bytes &= (last ^ (last - 1)) & 0x7f7f7f7f7f7f7f7fU;
    bytes = (bytes & 0x007f007f007f007fU) | (bytes & 0x7f007f007f007f00U) >> 1;
    bytes = (bytes & 0x00003fff00003fffU) | (bytes & 0x3fff00003fff0000U) >> 2;
    *value = (bytes & 0x000000000fffffffU) | (bytes & 0x0fffffff00000000U) >> 4;
    *at = next + ((unsigned)__builtin_ctzll(last) + 1) / 8;
    return 0;
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

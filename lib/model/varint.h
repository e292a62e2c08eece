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

static inline int varint_get(const unsigned char **at, const unsigned char *end, uint64_t *value)
{
    const unsigned char *next = *at;
    uint64_t result = 0;
    for (unsigned shift = 0; shift < 64 && next < end; shift += 7) {
        uint64_t byte = *next++;
        if (shift == 63 && byte > 1)
            return -1;
        result |= (byte & 0x7f) << shift;
        if (byte < 0x80) {
            *at = next;
            *value = result;
            return 0;
        }
    }
    return -1;
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

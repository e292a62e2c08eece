#include "model/varint.h"

enum { VARINT_BYTES = 10 };

int varint_put(struct buffer *buffer, uint64_t value)
{
    char bytes[VARINT_BYTES];
    size_t length = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[length++] = (char)(0x80 | (value & 0x7f));
    bytes[length++] = (char)value;
    return buffer_append(buffer, bytes, length);
}

int varint_put_signed(struct buffer *buffer, int64_t value)
{
    return varint_put(buffer, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

int varint_get(const unsigned char **at, const unsigned char *end, uint64_t *value)
{
    uint64_t result = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (*at == end)
            return -1;
        uint64_t byte = *(*at)++;
        if (shift == 63 && byte > 1)
            return -1;
        result |= (byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = result;
            return 0;
        }
    }
    return -1;
}

int varint_get_signed(const unsigned char **at, const unsigned char *end, int64_t *value)
{
    uint64_t folded;
    if (varint_get(at, end, &folded))
        return -1;
    *value = (int64_t)(folded >> 1 ^ (folded & 1 ? UINT64_MAX : 0));
    return 0;
}

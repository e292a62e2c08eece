#include "model/varint.h"

int varint_put(struct buffer *buffer, uint64_t value)
{
    char bytes[VARINT_BYTES];
    return buffer_append(buffer, bytes, (size_t)(varint_write(bytes, value) - bytes));
}

int varint_put_signed(struct buffer *buffer, int64_t value)
{
    char bytes[VARINT_BYTES];
    return buffer_append(buffer, bytes, (size_t)(varint_write_signed(bytes, value) - bytes));
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

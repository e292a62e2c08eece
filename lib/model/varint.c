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

int varint_get_slowly(const unsigned char **at, const unsigned char *end, uint64_t *value)
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

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

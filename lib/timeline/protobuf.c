#include "timeline/protobuf.h"

#include "model/varint.h"

#include <string.h>

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2 };

static int put_tag(struct buffer *message, unsigned field, enum wire_type type)
{
    return varint_put(message, (uint64_t)field << 3 | type);
}

int protobuf_number(struct buffer *message, unsigned field, uint64_t value)
{
    return put_tag(message, field, WIRE_VARINT) || varint_put(message, value) ? -1 : 0;
}

int protobuf_fixed(struct buffer *message, unsigned field, uint64_t value)
{
    char bytes[8];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(value >> (8 * i) & 0xff);
    return put_tag(message, field, WIRE_FIXED64) || buffer_append(message, bytes, sizeof bytes) ? -1 : 0;
}

int protobuf_bytes(struct buffer *message, unsigned field, const void *bytes, size_t length)
{
    return put_tag(message, field, WIRE_LENGTH) || varint_put(message, length) ||
                   buffer_append(message, bytes, length)
               ? -1
               : 0;
}

int protobuf_text(struct buffer *message, unsigned field, const char *text)
{
    return protobuf_bytes(message, field, text, strlen(text));
}

/* Room for a length of one byte, as most are. */
int protobuf_open(struct buffer *message, unsigned field, size_t *mark)
{
    if (put_tag(message, field, WIRE_LENGTH))
        return -1;
    *mark = message->length;
    return buffer_append_byte(message, 0);
}

int protobuf_close(struct buffer *message, size_t mark)
{
    char length[VARINT_BYTES];
    size_t content = message->length - mark - 1;
    size_t more = (size_t)(varint_write(length, content) - length) - 1;
    if (more) {
        if (buffer_append(message, length, more))
            return -1;
        memmove(message->data + mark + 1 + more, message->data + mark + 1, content);
    }
    memcpy(message->data + mark, length, more + 1);
    return 0;
}

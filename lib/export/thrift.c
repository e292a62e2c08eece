#include "export/thrift.h"

#include "model/varint.h"

#include <string.h>

void thrift_init(struct thrift *thrift)
{
    *thrift = (struct thrift){.bytes = BUFFER_INIT};
}

void thrift_release(struct thrift *thrift)
{
    buffer_release(&thrift->bytes);
}

void thrift_clear(struct thrift *thrift)
{
    buffer_clear(&thrift->bytes);
    thrift->failed = 0;
    thrift->depth = 0;
}

static void append(struct thrift *thrift, const void *bytes, size_t length)
{
    thrift->failed = thrift->failed || buffer_append(&thrift->bytes, bytes, length);
}

static void append_byte(struct thrift *thrift, unsigned value)
{
    thrift->failed = thrift->failed || buffer_append_byte(&thrift->bytes, (char)value);
}

static void append_varint(struct thrift *thrift, uint64_t value)
{
    thrift->failed = thrift->failed || varint_put(&thrift->bytes, value);
}

/* Numbers near 0 are short, whichever side. */
static void append_zigzag(struct thrift *thrift, int64_t value)
{
    thrift->failed = thrift->failed || varint_put_signed(&thrift->bytes, value);
}

static void append_bytes(struct thrift *thrift, const void *bytes, size_t length)
{
    append_varint(thrift, length);
    append(thrift, bytes, length);
}

/* How far its number is beyond the one before, where that fits beside the type. */
static void append_field(struct thrift *thrift, int field, enum thrift_type type)
{
    int *last = &thrift->number[thrift->depth - 1], beyond = field - *last;
    *last = field;
    if (beyond >= 1 && beyond <= 15) {
        append_byte(thrift, (unsigned)beyond << 4 | type);
    } else {
        append_byte(thrift, type);
        append_zigzag(thrift, field);
    }
}

void thrift_begin(struct thrift *thrift)
{
    thrift->number[thrift->depth++] = 0;
}

void thrift_end(struct thrift *thrift)
{
    thrift->depth--;
    append_byte(thrift, 0);
}

void thrift_i32(struct thrift *thrift, int field, int32_t value)
{
    append_field(thrift, field, THRIFT_I32);
    append_zigzag(thrift, value);
}

void thrift_i64(struct thrift *thrift, int field, int64_t value)
{
    append_field(thrift, field, THRIFT_I64);
    append_zigzag(thrift, value);
}

void thrift_binary(struct thrift *thrift, int field, const void *bytes, size_t length)
{
    append_field(thrift, field, THRIFT_BINARY);
    append_bytes(thrift, bytes, length);
}

void thrift_text(struct thrift *thrift, int field, const char *text)
{
    thrift_binary(thrift, field, text, strlen(text));
}

void thrift_struct(struct thrift *thrift, int field)
{
    append_field(thrift, field, THRIFT_STRUCT);
    thrift_begin(thrift);
}

void thrift_list(struct thrift *thrift, int field, enum thrift_type type, size_t count)
{
    append_field(thrift, field, THRIFT_LIST);
    append_byte(thrift, (unsigned)(count < 15 ? count : 15) << 4 | type);
    if (count >= 15)
        append_varint(thrift, count);
}

void thrift_element_i32(struct thrift *thrift, int32_t value)
{
    append_zigzag(thrift, value);
}

void thrift_element_text(struct thrift *thrift, const char *text)
{
    append_bytes(thrift, text, strlen(text));
}

void thrift_elements(struct thrift *thrift, const struct thrift *written)
{
    thrift->failed = thrift->failed || written->failed;
    if (written->bytes.length)
        append(thrift, written->bytes.data, written->bytes.length);
}

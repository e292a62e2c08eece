/*
 * Growing byte buffers, and growing plain arrays whose size comes from an untrusted file. Every room uses
 * them.
 */
#include "base/base.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buffer_release(struct buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct buffer)BUFFER_INIT;
}

void buffer_clear(struct buffer *buffer)
{
    buffer->length = 0;
    if (buffer->data)
        buffer->data[0] = '\0';
}

int buffer_reserve(struct buffer *buffer, size_t more)
{
    if (more > SIZE_MAX / 4 || buffer->length > SIZE_MAX / 4)
        return -1;
    size_t wanted = buffer->length + more + 1;
    if (wanted <= buffer->capacity)
        return 0;
    size_t capacity = buffer->capacity * 2 > wanted ? buffer->capacity * 2 : wanted + 32;
    char *data = realloc(buffer->data, capacity);
    if (!data)
        return -1;
    buffer->data = data;
    buffer->capacity = capacity;
    data[buffer->length] = '\0';
    return 0;
}

int buffer_append(struct buffer *buffer, const void *bytes, size_t length)
{
    if (buffer_reserve(buffer, length))
        return -1;
    if (length)
        memcpy(buffer->data + buffer->length, bytes, length);
    buffer->length += length;
    buffer->data[buffer->length] = '\0';
    return 0;
}

int buffer_append_text(struct buffer *buffer, const char *text)
{
    return buffer_append(buffer, text, strlen(text));
}

int buffer_append_byte(struct buffer *buffer, char byte)
{
    return buffer_append(buffer, &byte, 1);
}

int buffer_printf(struct buffer *buffer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (wanted < 0 || buffer_reserve(buffer, (size_t)wanted))
        return -1;
    va_start(arguments, format);
    vsnprintf(buffer->data + buffer->length, (size_t)wanted + 1, format, arguments);
    va_end(arguments);
    buffer->length += (size_t)wanted;
    return 0;
}

char *buffer_detach(struct buffer *buffer)
{
    char *data = buffer->data;
    *buffer = (struct buffer)BUFFER_INIT;
    return data;
}

int array_reserve(void **items, size_t *capacity, size_t wanted, size_t item_bytes)
{
    if (wanted <= *capacity)
        return 0;
    size_t grown = *capacity < 16 ? 16 : *capacity + *capacity / 2;
    if (grown < wanted)
        grown = wanted;
    if (grown > SIZE_MAX / 2 / item_bytes)
        return -1;
    void *moved = realloc(*items, grown * item_bytes);
    if (!moved)
        return -1;
    *items = moved;
    *capacity = grown;
    return 0;
}

void *array_new(size_t count, size_t item_bytes)
{
    return calloc(count ? count : 1, item_bytes);
}

void array_sort(void *items, size_t count, size_t item_bytes, int (*compare)(const void *, const void *))
{
    size_t sorted = 1;
    while (sorted < count && compare((const char *)items + (sorted - 1) * item_bytes,
                                     (const char *)items + sorted * item_bytes) <= 0)
        sorted++;
    if (sorted < count)
        qsort(items, count, item_bytes, compare);
}

#include "format/nccl/torn.h"

void torn_release(struct torn *torn)
{
    for (size_t i = 0; i < TORN_HELD; i++)
        buffer_release(&torn->lines[i].text);
    torn->count = 0;
}

void torn_drop(struct torn *torn, size_t number)
{
    struct torn_line dropped = torn->lines[number];
    torn->count--;
    for (size_t i = number; i < torn->count; i++)
        torn->lines[i] = torn->lines[i + 1];
    torn->lines[torn->count] = dropped; /* its memory serves the next */
}

int torn_hold(struct torn *torn, int64_t speaker, uint64_t offset, int64_t at_ns, struct text text,
              int64_t *dropped)
{
    *dropped = torn->count == TORN_HELD ? torn->lines[0].speaker : -1;
    if (torn->count == TORN_HELD)
        torn_drop(torn, 0);
    struct torn_line *line = &torn->lines[torn->count];
    line->speaker = speaker;
    line->offset = offset;
    line->at_ns = at_ns;
    buffer_clear(&line->text);
    if (buffer_append(&line->text, text.data, text.length))
        return -1;
    torn->count++;
    return 0;
}

int torn_join(struct torn *torn, size_t number, struct text rest, struct buffer *whole)
{
    const struct buffer *piece = &torn->lines[number].text;
    buffer_clear(whole);
    return buffer_append(whole, piece->data, piece->length) || buffer_append(whole, rest.data, rest.length)
               ? -1
               : 0;
}

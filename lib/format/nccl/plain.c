#include "format/nccl/plain.h"

#include <string.h>

enum { ESCAPE = 0x1b };

/* How long the sequence at a place is: ESC, a bracket, and all up to a letter. */
static size_t sequence_length(struct text text, size_t at)
{
    size_t length = 1;
    if (at + 1 >= text.length || text.data[at + 1] != '[')
        return length;
    for (length = 2; at + length < text.length; length++) {
        char byte = text.data[at + length];
        if ((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z'))
            return length + 1;
    }
    return length;
}

int plain_text(struct text *line, struct buffer *buffer)
{
    if (!memchr(line->data, ESCAPE, line->length))
        return 0;
    buffer_clear(buffer);
    for (size_t at = 0; at < line->length;) {
        if (line->data[at] == ESCAPE)
            at += sequence_length(*line, at);
        else if (buffer_append_byte(buffer, line->data[at++]))
            return -1;
    }
    *line = (struct text){buffer->length ? buffer->data : "", buffer->length};
    return 0;
}

static int begins_stamp(struct text text)
{
    if (text_begins(text, "[rank") || text_begins(text, "[default"))
        return 1;
    for (size_t i = 1; i < 5; i++)
        if (text.length < 6 || text.data[0] != '[' || text.data[i] < '0' || text.data[i] > '9')
            return 0;
    return text.data[5] == '-';
}

size_t plain_before_stamp(struct text text)
{
    for (size_t at = 0; at < text.length; at++)
        if (text.data[at] == '[' && begins_stamp((struct text){text.data + at, text.length - at}))
            return at;
    return text.length;
}

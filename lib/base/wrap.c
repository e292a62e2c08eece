#include "base/wrap.h"

#include "base/escape.h"

#include <string.h>

/* What follows is set off from the next line as well. */
enum { HANG = 2 };

static size_t blanks(const char *text, size_t length)
{
    size_t count = 0;
    while (count < length && text[count] == ' ')
        count++;
    return count;
}

static size_t word_bytes(const char *text, size_t length)
{
    const char *blank = memchr(text, ' ', length);
    return blank ? (size_t)(blank - text) : length;
}

int wrap_line(struct buffer *buffer, const char *text, size_t length, size_t width, size_t hang)
{
    size_t indent = blanks(text, length), column = indent;
    int is_first = 1, failed = buffer_append(buffer, text, indent);
    for (size_t at = indent; at < length && !failed;) {
        size_t gap = blanks(text + at, length - at), word = word_bytes(text + at + gap, length - at - gap);
        size_t wide = escape_width_of(text + at + gap, word);
        if (word == 0)
            break;
        if (!is_first && column + gap + wide > width) {
            failed = buffer_printf(buffer, "\n%*s", (int)hang, "");
            column = hang;
        } else if (!is_first) {
            failed = buffer_append(buffer, text + at, gap);
            column += gap;
        }
        failed = failed || buffer_append(buffer, text + at + gap, word);
        column += wide;
        at += gap + word;
        is_first = 0;
    }
    return failed || buffer_append_byte(buffer, '\n') ? -1 : 0;
}

int wrap_text(struct buffer *buffer, const char *text, size_t length, size_t width)
{
    while (length) {
        const char *newline = memchr(text, '\n', length);
        size_t line = newline ? (size_t)(newline - text) : length, indent = blanks(text, line);
        if (wrap_line(buffer, text, line, width, indent + HANG))
            return -1;
        text += line + (newline != NULL);
        length -= line + (newline != NULL);
    }
    return 0;
}

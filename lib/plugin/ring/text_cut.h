/* Texts of the application's that are too long. */
#ifndef PLUGIN_RING_TEXT_CUT_H
#define PLUGIN_RING_TEXT_CUT_H

#include <stddef.h>

/* How much of a text to keep: at most `most` bytes, and no half of a UTF-8 sequence at the end. */
static inline size_t text_cut(const char *text, size_t length, size_t most)
{
    if (length <= most)
        return length;
    while (most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80)
        most--;
    return most;
}

#endif

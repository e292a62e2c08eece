#ifndef NCCLPROF_BASE_COLOUR_H
#define NCCLPROF_BASE_COLOUR_H

#include "base/buffer.h"

#include <stddef.h>

/* How much a word on a terminal asks to be looked at. */
enum colour { COLOUR_NONE = 0, COLOUR_ALARM, COLOUR_CAUTION, COLOUR_CALM };

/* The sequence that begins a colour, "" for none, and the one that ends it. */
const char *colour_begin(enum colour colour);
const char *colour_end(enum colour colour);

/* Appends escaped text in its colour. -1 when memory is out. */
int colour_text(struct buffer *buffer, enum colour colour, const char *text);

/* Bytes of the colour sequence that a text begins with; 0: of none. */
size_t colour_bytes(const char *text, size_t length);

#endif

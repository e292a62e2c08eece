#include "base/colour.h"

static const char *const begins[] = {[COLOUR_NONE] = "",
                                     [COLOUR_ALARM] = "\033[1;31m",
                                     [COLOUR_CAUTION] = "\033[33m",
                                     [COLOUR_CALM] = "\033[2m"};

const char *colour_begin(enum colour colour)
{
    return begins[colour];
}

const char *colour_end(enum colour colour)
{
    return colour == COLOUR_NONE ? "" : "\033[0m";
}

int colour_text(struct buffer *buffer, enum colour colour, const char *text)
{
    return buffer_append_text(buffer, colour_begin(colour)) || buffer_append_text(buffer, text) ||
                   buffer_append_text(buffer, colour_end(colour))
               ? -1
               : 0;
}

size_t colour_bytes(const char *text, size_t length)
{
    size_t at = 2;
    if (length < 3 || text[0] != '\033' || text[1] != '[')
        return 0;
    while (at < length && ((text[at] >= '0' && text[at] <= '9') || text[at] == ';'))
        at++;
    return at < length && text[at] == 'm' ? at + 1 : 0;
}

#include "base/escape.h"

#include "base/colour.h"

#include <stdint.h>
#include <string.h>

/* The length of the UTF-8 character at `bytes` (RFC 3629), 0 when there is none; its code point. */
static size_t decode(const unsigned char *bytes, size_t left, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = bytes[0];
    *code = first;
    if (first < 0x80)
        return 1;
    size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 0;
    if (length == 0 || first > 0xf4 || length > left)
        return 0;
    *code = first & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        *code = *code << 6 | (bytes[i] & 0x3f);
    }
    int surrogate = *code >= 0xd800 && *code <= 0xdfff;
    return *code < least[length] || *code > 0x10ffff || surrogate ? 0 : length;
}

/* Controls of both sets, line separators and what turns the direction of writing. */
static int is_harmful(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200e && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0x61c ||
           code == 0xfeff;
}

static int append_hex(struct buffer *buffer, const unsigned char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (buffer_printf(buffer, "\\x%02x", bytes[i]))
            return -1;
    return 0;
}

/* Of a character that means something in markup; NULL. */
static const char *entity_of(uint32_t code)
{
    switch (code) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    default:
        return NULL;
    }
}

static int escape_shown(struct buffer *buffer, const char *text, size_t length, int is_markup)
{
    const unsigned char *bytes = (const unsigned char *)text;
    for (size_t at = 0; at < length;) {
        uint32_t code;
        size_t taken = decode(bytes + at, length - at, &code);
        const char *entity = is_markup && taken ? entity_of(code) : NULL;
        int failed = taken == 0 || is_harmful(code) ? append_hex(buffer, bytes + at, taken ? taken : 1)
                     : entity                       ? buffer_append_text(buffer, entity)
                                                    : buffer_append(buffer, text + at, taken);
        if (failed)
            return -1;
        at += taken ? taken : 1;
    }
    return buffer_reserve(buffer, 0);
}

int escape_terminal(struct buffer *buffer, const char *text, size_t length)
{
    return escape_shown(buffer, text, length, 0);
}

int escape_markup(struct buffer *buffer, const char *text, size_t length)
{
    return escape_shown(buffer, text, length, 1);
}

static int append_json(struct buffer *buffer, const char *text, size_t taken, uint32_t code)
{
    if (taken == 0)
        return buffer_append_text(buffer, "\xef\xbf\xbd");
    if (code == '"' || code == '\\')
        return buffer_printf(buffer, "\\%c", (int)code);
    if (code == '\n')
        return buffer_append_text(buffer, "\\n");
    if (code == '\t')
        return buffer_append_text(buffer, "\\t");
    if (is_harmful(code) && code <= 0xffff)
        return buffer_printf(buffer, "\\u%04x", code);
    return buffer_append(buffer, text, taken);
}

int escape_json(struct buffer *buffer, const char *text, size_t length)
{
    for (size_t at = 0; at < length;) {
        uint32_t code;
        size_t taken = decode((const unsigned char *)text + at, length - at, &code);
        if (append_json(buffer, text + at, taken, code))
            return -1;
        at += taken ? taken : 1;
    }
    return buffer_reserve(buffer, 0);
}

/* How many bytes from the first on are UTF-8. */
static size_t valid_bytes(const char *text, size_t length)
{
    size_t at = 0, taken = 1;
    for (; at < length && taken; at += taken) {
        uint32_t code;
        taken = decode((const unsigned char *)text + at, length - at, &code);
    }
    return at;
}

int escape_is_utf8(const char *text, size_t length)
{
    return valid_bytes(text, length) == length;
}

int escape_utf8(struct buffer *buffer, const char *text, size_t length)
{
    for (size_t at = 0; at < length; at++) {
        size_t valid = valid_bytes(text + at, length - at);
        if (buffer_append(buffer, text + at, valid))
            return -1;
        at += valid;
        if (at < length && buffer_append_text(buffer, "\xef\xbf\xbd"))
            return -1;
    }
    return buffer_reserve(buffer, 0);
}

size_t escape_width_of(const char *text, size_t length)
{
    size_t width = 0;
    for (size_t at = 0, colour; at < length; at += colour ? colour : 1) {
        colour = colour_bytes(text + at, length - at);
        width += !colour && ((unsigned char)text[at] & 0xc0) != 0x80;
    }
    return width;
}

size_t escape_width(const char *text)
{
    return escape_width_of(text, strlen(text));
}

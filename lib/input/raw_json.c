#include "input/raw_json.h"

#include <stdint.h>
#include <string.h>

/* What a byte may be outside of strings, and what ends plain text inside of one. */
enum byte_kind { PLAIN = 0, SPACE, QUOTE, OPENS, CLOSES, PARTS };

static const unsigned char kind_of[256] = {
    [' '] = SPACE, ['\t'] = SPACE, ['\r'] = SPACE, ['\n'] = SPACE, ['"'] = QUOTE, ['{'] = OPENS,
    ['['] = OPENS, ['}'] = CLOSES, [']'] = CLOSES, [','] = PARTS,  [':'] = PARTS,
};

static const unsigned char stops_string[256] = {['"'] = 1, ['\\'] = 1, ['\n'] = 1};

/* Behind the closing quote; NULL. */
static const char *end_string(struct raw_json_scan *scan, const char *at, const char *end)
{
    if (scan->is_escaped && at < end) {
        scan->is_escaped = 0;
        at++;
    }
    for (; at < end; at++) {
        while (at < end && !stops_string[(unsigned char)*at])
            at++;
        if (at == end)
            return NULL;
        if (*at == '"') {
            scan->in = '\0';
            return at + 1;
        }
        if (*at == '\n') {
            scan->is_broken = 1;
            return NULL;
        }
        if (++at == end)
            scan->is_escaped = 1;
    }
    return NULL;
}

/* Behind a number or a word. */
static const char *end_word(struct raw_json_scan *scan, const char *at, const char *end)
{
    while (at < end && kind_of[(unsigned char)*at] == PLAIN)
        at++;
    scan->in = at < end ? '\0' : 'w';
    return at < end ? at : NULL;
}

/* Inside a container, or where a value begins. NULL: more is needed, or it is broken. */
static const char *take_byte(struct raw_json_scan *scan, const char *at, const char *end)
{
    switch (kind_of[(unsigned char)*at]) {
    case QUOTE:
        scan->in = '"';
        return end_string(scan, at + 1, end);
    case OPENS:
        scan->is_broken = ++scan->depth > RAW_JSON_DEPTH;
        return scan->is_broken ? NULL : at + 1;
    case CLOSES:
        scan->is_broken = scan->depth-- == 0;
        return scan->is_broken ? NULL : at + 1;
    case PLAIN:
        return scan->depth ? at + 1 : end_word(scan, at, end);
    default:
        scan->is_broken = scan->depth == 0;
        return scan->is_broken ? NULL : at + 1;
    }
}

const char *raw_json_end(struct raw_json_scan *scan, const char *text, const char *end)
{
    if (scan->in == 'w')
        return end_word(scan, text, end);
    if (scan->in == '"') {
        text = end_string(scan, text, end);
        if (!text || scan->depth == 0)
            return text;
    }
    while (text && text < end) {
        text = take_byte(scan, text, end);
        if (text && scan->depth == 0)
            return text;
        while (text && text < end && kind_of[(unsigned char)*text] < QUOTE)
            text++;
    }
    return NULL;
}

const char *raw_json_skip_space(const char *text, const char *end)
{
    while (text < end && kind_of[(unsigned char)*text] == SPACE)
        text++;
    return text;
}

void raw_json_enter(struct raw_json_cursor *cursor, struct raw_json container)
{
    const char *end = container.text + container.length;
    const char *at = raw_json_skip_space(container.text, end);
    char first = '\0';
    if (at < end)
        first = *at;
    *cursor = (struct raw_json_cursor){.at = at + (first != '\0'), .end = end};
    if (first == '{')
        cursor->closing = '}';
    else if (first == '[')
        cursor->closing = ']';
}

/* One value; -1: there is none. */
static int take_value(struct raw_json_cursor *cursor, struct raw_json *value)
{
    struct raw_json_scan scan = {.depth = 0};
    const char *past = raw_json_end(&scan, cursor->at, cursor->end);
    if (!past)
        return -1;
    *value = (struct raw_json){cursor->at, (size_t)(past - cursor->at)};
    cursor->at = raw_json_skip_space(past, cursor->end);
    return 0;
}

static int take_sign(struct raw_json_cursor *cursor, char sign)
{
    if (cursor->at == cursor->end || *cursor->at != sign)
        return -1;
    cursor->at = raw_json_skip_space(cursor->at + 1, cursor->end);
    return 0;
}

int raw_json_next(struct raw_json_cursor *cursor, struct raw_json *key, struct raw_json *value)
{
    if (cursor->closing == '\0')
        return -1;
    cursor->at = raw_json_skip_space(cursor->at, cursor->end);
    if (cursor->at < cursor->end && *cursor->at == cursor->closing)
        return 0;
    if (cursor->is_begun && take_sign(cursor, ','))
        return -1;
    cursor->is_begun = 1;
    *key = (struct raw_json){NULL, 0};
    if (cursor->closing == ']')
        return take_value(cursor, value) ? -1 : 1;
    struct raw_json quoted;
    if (take_value(cursor, &quoted) || raw_json_string(quoted, key) || take_sign(cursor, ':') ||
        take_value(cursor, value))
        return -1;
    return 1;
}

int raw_json_string(struct raw_json value, struct raw_json *content)
{
    if (value.length < 2 || value.text[0] != '"')
        return -1;
    *content = (struct raw_json){value.text + 1, value.length - 2};
    return 0;
}

static int hexadecimal(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    if (byte >= 'a' && byte <= 'f')
        return byte - 'a' + 10;
    return byte >= 'A' && byte <= 'F' ? byte - 'A' + 10 : -1;
}

/* The code unit of "\uXXXX" at `text`; -1. */
static int32_t code_unit(const char *text, const char *end)
{
    int32_t unit = 0;
    if (end - text < 6 || text[0] != '\\' || text[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        int digit = hexadecimal(text[i]);
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

static int add_utf8(struct buffer *buffer, uint32_t code)
{
    unsigned char bytes[4];
    size_t count = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0x00, 0xc0, 0xe0, 0xf0};
    for (size_t i = count; i-- > 0; code >>= 6)
        bytes[i] = (unsigned char)(i ? 0x80 | (code & 0x3f) : lead[count] | code);
    return buffer_append(buffer, bytes, count);
}

/* An escape of one code unit, or of two; how many bytes it took, 0 when it is none, -1 out of memory. */
static int add_code(struct buffer *buffer, const char *at, const char *end)
{
    int32_t unit = code_unit(at, end);
    if (unit < 0 || unit == 0 || (unit >= 0xdc00 && unit < 0xe000))
        return 0;
    if (unit < 0xd800 || unit >= 0xe000)
        return add_utf8(buffer, (uint32_t)unit) ? -1 : 6;
    int32_t low = code_unit(at + 6, end);
    if (low < 0xdc00 || low >= 0xe000)
        return 0;
    uint32_t code = 0x10000 + (((uint32_t)unit - 0xd800) << 10 | ((uint32_t)low - 0xdc00));
    return add_utf8(buffer, code) ? -1 : 12;
}

/* The same of any escape. */
static int add_escape(struct buffer *buffer, const char *at, const char *end)
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char *letter = end - at >= 2 && at[1] != '\0' ? strchr(letters, at[1]) : NULL;
    if (letter)
        return buffer_append_byte(buffer, meant[letter - letters]) ? -1 : 2;
    return add_code(buffer, at, end);
}

int raw_json_unescape(struct raw_json content, struct buffer *buffer)
{
    const char *at = content.text, *end = content.text + content.length;
    while (at < end) {
        const char *escape = memchr(at, '\\', (size_t)(end - at));
        const char *plain_end = escape ? escape : end;
        if (buffer_append(buffer, at, (size_t)(plain_end - at)))
            return -1;
        if (!escape)
            return 0;
        int taken = add_escape(buffer, escape, end);
        if (taken < 0 || (taken == 0 && buffer_append_byte(buffer, *escape)))
            return -1;
        at = escape + (taken ? taken : 1);
    }
    return 0;
}

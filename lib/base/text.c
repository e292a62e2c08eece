/*
 * Text for output: colours, escaping for terminals, JSON and HTML, numbers and times, line wrapping, base64.
 */
#include "base/base.h"
#include "base/internal.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* The length in bytes of the colour sequence at the beginning of a text; 0 if there is none. */
static size_t colour_bytes(const char *text, size_t length)
{
    size_t at = 2;
    if (length < 3 || text[0] != '\033' || text[1] != '[')
        return 0;
    while (at < length && (is_digit(text[at]) || text[at] == ';'))
        at++;
    return at < length && text[at] == 'm' ? at + 1 : 0;
}

/* Decodes the UTF-8 character at `bytes` (RFC 3629) into *code. Returns its length, 0 if it is invalid. */
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

/* Control characters (C0 and C1), line separators, and characters that change the writing direction. */
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

/* The entity of a character that has a meaning in markup; NULL for all others. */
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

/* How many bytes from the beginning are valid UTF-8. */
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

/* The width of the first `length` bytes. */
static size_t escape_width_of(const char *text, size_t length)
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

int text_json_quote(struct buffer *json, const char *text)
{
    if (!text)
        return buffer_append_text(json, "null");
    return buffer_append_byte(json, '"') || escape_json(json, text, strlen(text)) ||
                   buffer_append_byte(json, '"')
               ? -1
               : 0;
}

int text_json_key(struct buffer *json, const char *name)
{
    char last = (char)(json->length ? json->data[json->length - 1] : '\0');
    int first = last == '{' || last == '[' || last == '\0';
    return buffer_printf(json, "%s\"%s\":", first ? "" : ",", name);
}

int text_json_string(struct buffer *json, const char *name, const char *value)
{
    return text_json_key(json, name) || text_json_quote(json, value) ? -1 : 0;
}

int text_json_integer(struct buffer *json, const char *name, int64_t value)
{
    return text_json_key(json, name) || buffer_printf(json, "%lld", (long long)value) ? -1 : 0;
}

char *integer_text(uint64_t value, char text[INTEGER_TEXT_BYTES])
{
    char digits[INTEGER_TEXT_BYTES];
    size_t count = 0;
    do
        digits[count++] = (char)('0' + value % 10);
    while (value /= 10);
    while (count)
        *text++ = digits[--count];
    *text = '\0';
    return text;
}

/*
 * Most numbers are microseconds with up to three decimals, which integer arithmetic prints faster. Outside
 * this range the text has an exponent.
 */
static const double FEWEST = 1e-3, MOST = 1e12;

static int is_thousandths(double value, char text[REAL_TEXT_BYTES])
{
    double size = fabs(value);
    int64_t thousandths = size < MOST ? llrint(size * 1e3) : 0;
    if (size < FEWEST || size >= MOST || (double)thousandths / 1e3 != size)
        return 0;
    if (value < 0)
        *text++ = '-';
    text = integer_text((uint64_t)thousandths / 1000, text);
    int decimals = (int)(thousandths % 1000);
    if (!decimals)
        return 1;
    *text++ = '.';
    for (int unit = 100; decimals; decimals %= unit, unit /= 10)
        *text++ = (char)('0' + decimals / unit);
    *text = '\0';
    return 1;
}

/*
 * A time from 2001 to 2096, in microseconds since 1970, is a multiple of an eighth as a double, and one
 * decimal tells which. An integer that ends in 0 may be shorter with an exponent.
 */
static const double LEAST_TIME = 1e15, MOST_TIME = 4e15;

static int is_time(double value, char text[REAL_TEXT_BYTES])
{
    if (!(value >= LEAST_TIME && value < MOST_TIME))
        return 0;
    uint64_t whole = (uint64_t)value;
    double part = value - (double)whole;
    if (part == 0 && whole % 10 == 0)
        return 0;
    text = integer_text(whole, text);
    if (part == 0)
        return 1;
    *text++ = '.';
    *text++ = (char)('0' + lrint(part * 10));
    *text = '\0';
    return 1;
}

void real_text(double value, char text[REAL_TEXT_BYTES])
{
    if (is_thousandths(value, text) || is_time(value, text))
        return;
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, REAL_TEXT_BYTES, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            return;
    }
}

int text_time(struct buffer *text, int64_t time_ns)
{
    static const struct {
        double least;
        const char *unit;
        double factor;
    } units[] = {{999.5e6, "s", 1e9}, {999.5e3, "ms", 1e6}, {999.5, "us", 1e3}, {0, "ns", 1}};
    double value = (double)time_ns, size = value < 0 ? -value : value;
    size_t i = 0;
    while (size < units[i].least)
        i++;
    double shown = value / units[i].factor;
    int decimals = shown >= 100 || shown <= -100 || units[i].factor < 1e3 ? 0
                   : shown >= 10 || shown <= -10                          ? 1
                                                                          : 2;
    return buffer_printf(text, "%.*f %s", decimals, shown, units[i].unit);
}

/* Whether a shell reads a word as it is, and a command does not read it as an option. */
static int is_plain_word(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./,:@%+=-";
    return *word && *word != '-' && word[strspn(word, plain)] == '\0';
}

/* Whether a terminal can show the word as it is: 1 or 0; -1 when out of memory. */
static int is_printable_word(const char *word)
{
    struct buffer shown = BUFFER_INIT;
    int failed = escape_terminal(&shown, word, strlen(word));
    int is_same = !failed && (!*word || strcmp(shown.data, word) == 0);
    buffer_release(&shown);
    return failed ? -1 : is_same;
}

/* Appends "$(printf '\057tmp\012x')", with an octal number for each byte that is not plain. */
static int append_printed_word(struct buffer *text, const char *word)
{
    int failed = buffer_append_text(text, "\"$(printf '");
    for (; *word && !failed; word++) {
        const char letter[] = {*word, '\0'};
        failed = *word != '%' && *word != '-' && is_plain_word(letter)
                     ? buffer_append_byte(text, *word)
                     : buffer_printf(text, "\\%03o", (unsigned)(unsigned char)*word);
    }
    return failed || buffer_append_text(text, "')\"") ? -1 : 0;
}

static int append_quoted_word(struct buffer *text, const char *word)
{
    int failed = buffer_append_byte(text, '\'');
    for (; *word && !failed; word++)
        failed = *word == '\'' ? buffer_append_text(text, "'\\''") : buffer_append_byte(text, *word);
    return failed || buffer_append_byte(text, '\'') ? -1 : 0;
}

int text_shell_word(struct buffer *text, const char *word)
{
    int is_printable = is_printable_word(word);
    if (is_plain_word(word))
        return buffer_append_text(text, word);
    return is_printable < 0 ? -1
           : is_printable   ? append_quoted_word(text, word)
                            : append_printed_word(text, word);
}

/* Continuation lines are indented, so that they differ from the next line. */
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

static int copy_line(struct buffer *buffer, const char *text, size_t length)
{
    return buffer_append(buffer, text, length) || buffer_append_byte(buffer, '\n');
}

int wrap_text(struct buffer *buffer, const char *text, size_t length, size_t width)
{
    while (length) {
        const char *newline = memchr(text, '\n', length);
        size_t line = newline ? (size_t)(newline - text) : length, indent = blanks(text, line);
        if (line && *text == *UNBROKEN_LINE ? copy_line(buffer, text + 1, line - 1)
                                            : wrap_line(buffer, text, line, width, indent + HANG))
            return -1;
        text += line + (newline != NULL);
        length -= line + (newline != NULL);
    }
    return 0;
}

static int append_group(struct buffer *text, const unsigned char *bytes, size_t count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits =
        (uint32_t)bytes[0] << 16 | (count > 1 ? (uint32_t)bytes[1] << 8 : 0) | (count > 2 ? bytes[2] : 0);
    char group[4];
    for (size_t i = 0; i < sizeof group; i++)
        group[i] = (char)(i <= count ? digits[bits >> (18 - 6 * i) & 63] : '=');
    return buffer_append(text, group, sizeof group);
}

int base64_append(struct buffer *text, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    if (buffer_reserve(text, length / 3 * 4 + 4))
        return -1;
    for (size_t done = 0; done < length; done += 3)
        if (append_group(text, at + done, length - done < 3 ? length - done : 3))
            return -1;
    return 0;
}

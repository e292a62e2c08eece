/* Formatting of numbers and JSON strings into a line, and the text of stop reasons. */
#include "plugin/write/write.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/*
 * Returns the length of the UTF-8 sequence that starts here, or 0 if there is none (RFC 3629: no surrogates,
 * no overlong forms).
 */
static size_t sequence_length(const unsigned char *at, size_t left)
{
    if (at[0] < 0x80)
        return 1;
    size_t length = at[0] >= 0xc2 && at[0] <= 0xdf ? 2 : (at[0] & 0xf0) == 0xe0 ? 3 : 0;
    if (at[0] >= 0xf0 && at[0] <= 0xf4)
        length = 4;
    if (length == 0 || length > left)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
        (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f))
        return 0;
    return length;
}

static void escape_control(struct text *text, unsigned char byte)
{
    text_literal(text, "\\u00");
    text->bytes[text->length++] = "0123456789abcdef"[byte >> 4];
    text->bytes[text->length++] = "0123456789abcdef"[byte & 15];
}

/*
 * Tests eight bytes together: sets the highest bit of each byte that is not printable ASCII, a quote or a
 * backslash.
 */
static uint64_t special(uint64_t bytes)
{
    const uint64_t ones = 0x0101010101010101u;
    const uint64_t highs = 0x8080808080808080u;
    uint64_t quote = bytes ^ ones * '"';
    uint64_t backslash = bytes ^ ones * '\\';
    uint64_t found = bytes - ones * 0x20; /* below space */
    found |= bytes + ones;                /* 0x7f and above */
    found |= quote - ones;                /* a zero byte */
    found |= backslash - ones;
    return (found | bytes) & highs;
}

/*
 * Returns how many bytes from here need no escape. May return less if a byte within the next eight needs one.
 */
static size_t plain_length(const unsigned char *at, size_t left)
{
    size_t length = 0;
    uint64_t bytes;
    for (; left - length >= sizeof(bytes); length += sizeof(bytes)) {
        memcpy(&bytes, at + length, sizeof(bytes));
        if (special(bytes))
            break;
    }
    while (length < left && at[length] >= 0x20 && at[length] < 0x7f && at[length] != '"' &&
           at[length] != '\\')
        length++;
    return length;
}

void text_escaped(struct text *text, const char *from, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)from;
    for (size_t i = 0; i < length;) {
        size_t plain = plain_length(bytes + i, length - i);
        text_bytes(text, from + i, plain);
        i += plain;
        if (i == length)
            return;
        size_t sequence = sequence_length(bytes + i, length - i);
        if (sequence == 0) {
            text_literal(text, "\\ufffd");
            sequence = 1;
        } else if (bytes[i] == '"' || bytes[i] == '\\') {
            text_literal(text, "\\");
            text_bytes(text, from + i, 1);
        } else if (bytes[i] < 0x20 || bytes[i] == 0x7f) {
            escape_control(text, bytes[i]);
        } else {
            text_bytes(text, from + i, sequence);
        }
        i += sequence;
    }
}

static const char *const names[] = {[STOP_NOT] = "",
                                    [STOP_LIMIT] = "limit",
                                    [STOP_SPACE] = "space",
                                    [STOP_DELETED] = "deleted",
                                    [STOP_ERROR] = "error"};

static const char *error_text(const struct stop *stop, char *to, size_t size)
{
    return strerror_r(stop->error, to, size);
}

void stop_print(struct text *text, const struct stop *stop, uint64_t written_bytes)
{
    char reason[128];
    text_literal(text, "\"reason\": \"");
    text_string(text, names[stop->reason]);
    text_literal(text, "\", \"bytes\": ");
    text_unsigned(text, stop->bytes);
    text_literal(text, ", \"written_bytes\": ");
    text_unsigned(text, written_bytes);
    text_literal(text, ", \"realtime_ns\": ");
    text_unsigned(text, stop->realtime_ns);
    if (stop->reason != STOP_ERROR)
        return;
    text_literal(text, ", \"error\": \"");
    const char *error = error_text(stop, reason, sizeof(reason));
    text_escaped(text, error, strlen(error));
    text_literal(text, "\"");
}

void stop_describe(char *to, size_t size, const struct stop *stop)
{
    char reason[128];
    switch (stop->reason) {
    case STOP_LIMIT:
        snprintf(to, size, "limit of %llu bytes reached (NCCLPROF_MAX_BYTES)",
                 (unsigned long long)stop->bytes);
        break;
    case STOP_SPACE:
        snprintf(to, size, "less than %llu bytes free on the file system (NCCLPROF_MIN_FREE_BYTES)",
                 (unsigned long long)stop->bytes);
        break;
    case STOP_DELETED:
        snprintf(to, size, "the file was deleted");
        break;
    default:
        snprintf(to, size, "%s", error_text(stop, reason, sizeof(reason)));
        break;
    }
}

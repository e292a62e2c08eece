#include "format/sniff.h"

#include <string.h>

int sniff_is_space(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && sniff_is_space(*at))
        at++;
    return at;
}

static int begins_object(const char *at, const char *end, const char *key)
{
    size_t length = strlen(key);
    at = skip_space(at, end);
    if (at < end && *at == '[')
        at = skip_space(at + 1, end);
    if (at == end || *at != '{')
        return 0;
    at = skip_space(at + 1, end);
    return (size_t)(end - at) >= length && memcmp(at, key, length) == 0;
}

const char *sniff_find(const char *text, size_t length, const char *from, const char *word,
                       const char *first_key)
{
    const char *end = text + length;
    const char *begin = skip_space(text, end);
    int is_json = begin < end && (*begin == '{' || *begin == '[');
    while ((from = memmem(from, (size_t)(end - from), word, strlen(word)))) {
        const char *line_break = memrchr(text, '\n', (size_t)(from - text));
        if (is_json || begins_object(line_break ? line_break + 1 : text, end, first_key))
            return from;
        from += strlen(word);
    }
    return NULL;
}

#include "format/sniff.h"

#include <string.h>

int sniff_is_space(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

const char *sniff_packer(const char *bytes, size_t length)
{
    static const struct {
        const char *program;
        size_t length;
        const char *magic;
    } packers[] = {{"xz", 6, "\xfd\x37\x7aXZ\0"},
                   {"zstd", 4, "\x28\xb5\x2f\xfd"},
                   {"bzip2", 3, "BZh"},
                   {"lz4", 4, "\x04\x22\x4d\x18"}};
    for (size_t i = 0; i < sizeof packers / sizeof *packers; i++)
        if (length >= packers[i].length && memcmp(bytes, packers[i].magic, packers[i].length) == 0)
            return packers[i].program;
    return NULL;
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

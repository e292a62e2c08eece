/* What the detection of formats shares: words of a trace in a file, and ranks in file names. */
#include "base/base.h"
#include "format/internal.h"
#include "model/model.h"

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

int sniff_is_pickle(const char *bytes, size_t length)
{
    return length > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

/* A longer number is a date, not a rank. */
enum { RANK_DIGITS_MOST = 7 };

/* Finds where the endings of a name begin: ".json", ".pkl.gz". One with only digits is no ending. */
static size_t without_endings(const char *name, size_t length)
{
    for (size_t i = length; i-- > 1;) {
        if (is_digit(name[i]) && length == i + 1)
            return length;
        if (name[i] == '.')
            length = i;
        else if (name[i] == '_' || name[i] == '-')
            return length;
    }
    return length;
}

/* Converts the digits of a rank; COUNT_UNKNOWN if there are none or too many. */
static int64_t number_of(const char *digits, size_t count)
{
    int64_t number = 0;
    if (count == 0 || count > RANK_DIGITS_MOST)
        return COUNT_UNKNOWN;
    for (size_t i = 0; i < count; i++)
        number = number * 10 + (digits[i] - '0');
    return number;
}

int64_t rank_of_path(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t length = without_endings(name, strlen(name)), begin = length;
    while (begin > 0 && is_digit(name[begin - 1]))
        begin--;
    return number_of(name + begin, length - begin);
}

int64_t rank_word_in_path(const char *path)
{
    static const char word[] = "rank";
    const char *slash = strrchr(path, '/'), *at = slash ? slash + 1 : path;
    while ((at = strstr(at, word))) {
        size_t count = 0;
        at += sizeof word - 1;
        if (*at == '_' || *at == '-')
            at++;
        while (is_digit(at[count]))
            count++;
        int64_t rank = number_of(at, count);
        if (rank != COUNT_UNKNOWN)
            return rank;
    }
    return COUNT_UNKNOWN;
}

int64_t rank_named_in_path(const char *path)
{
    int64_t rank = rank_word_in_path(path);
    return rank == COUNT_UNKNOWN ? rank_of_path(path) : rank;
}

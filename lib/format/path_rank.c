#include "format/path_rank.h"

#include "model/event.h"

#include <string.h>

/* More are no rank, but a date. */
enum { RANK_DIGITS_MOST = 7 };

static int is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* Where a name's ending begins: ".json", ".pkl.gz"; one of digits alone is none. */
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

/* A number's digits as one; COUNT_UNKNOWN where there are none, or more than a rank has. */
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

int64_t rank_named_in_path(const char *path)
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
    return rank_of_path(path);
}

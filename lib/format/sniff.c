/*
 * What the detection of formats shares: words of a trace in a file, files that are no traces, and ranks in
 * file names.
 */
#include "base/base.h"
#include "format/internal.h"
#include "model/model.h"

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

enum { ANYWHERE = -1 };

/* Bytes at a fixed place, or anywhere. The first row that fits counts, so certain kinds come first. */
struct stranger {
    int offset;
    size_t length; /* 0: length of the text */
    const char *mark;
    const char *what;
};

/* Certain from their fixed place, whatever the rest contains (an archive may contain traces). */
static const struct stranger sure[] = {
    {257, 0, "ustar", "looks like a tar archive; unpack it and pass the directory"},
    {0, 4, "PK\3\4", "looks like a zip archive; unpack it and pass the directory"},
    {0, 6, "7z\xbc\xaf\x27\x1c", "looks like a 7z archive; unpack it and pass the directory"},
    {0, 4,
     "\x7f"
     "ELF",
     "looks like a program"},
    {68, 0, "NCPF", "looks like an ncclprof store; pass it with --store"},
    {0, 0, "QDSTRM", "looks like a raw Nsight Systems file"},
};

static const struct stranger strangers[] = {
    {0, 0, "SQLite format 3", "looks like an SQLite database"},
    {ANYWHERE, 0, "\"traceEvents\"", "looks like a Chrome trace of another tool"},
};

static int stands_in(const struct stranger *stranger, const char *bytes, size_t length)
{
    size_t mark = stranger->length ? stranger->length : strlen(stranger->mark);
    if (stranger->offset == ANYWHERE)
        return memmem(bytes, length, stranger->mark, mark) != NULL;
    return length >= (size_t)stranger->offset + mark &&
           memcmp(bytes + stranger->offset, stranger->mark, mark) == 0;
}

static const char *find(const struct stranger *table, size_t count, const char *bytes, size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (stands_in(&table[i], bytes, length))
            return table[i].what;
    return NULL;
}

int sniff_is_pickle(const char *bytes, size_t length)
{
    return length > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

static char first_sign(const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!sniff_is_space(bytes[i]))
            return bytes[i];
    return '\0';
}

const char *unsupported_find_certain(const char *bytes, size_t length)
{
    return find(sure, sizeof sure / sizeof *sure, bytes, length);
}

const char *unsupported_find(const char *bytes, size_t length)
{
    const char *what = unsupported_find_certain(bytes, length);
    if (!what)
        what = find(strangers, sizeof strangers / sizeof *strangers, bytes, length);
    if (!what && sniff_is_pickle(bytes, length))
        what = "looks like a Python pickle";
    return what;
}

const char *unsupported_describe(const char *bytes, size_t length)
{
    const char *stranger = unsupported_find(bytes, length);
    if (length == 0)
        return "empty file";
    if (stranger)
        return stranger;
    if (memchr(bytes, '\0', length))
        return "unknown binary data";
    char first = first_sign(bytes, length);
    return first == '{' || first == '[' ? "JSON, but no known format" : "neither JSON nor a known log";
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

#include "format/strangers.h"

#include "format/sniff.h"

#include <string.h>

enum { ANYWHERE = -1 };

/* Bytes that stand at one place, or anywhere. The first row that fits counts: the surer ones come first. */
struct stranger {
    int offset;
    size_t length; /* 0: that of the text */
    const char *mark;
    const char *what;
};

/* Known by where they stand: whatever the rest holds, be it traces in an archive. */
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

/* Protocols 2 to 5 of Python's pickle. */
static int is_pickle(const char *bytes, size_t length)
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

const char *strangers_sure(const char *bytes, size_t length)
{
    return find(sure, sizeof sure / sizeof *sure, bytes, length);
}

const char *strangers_find(const char *bytes, size_t length)
{
    const char *what = strangers_sure(bytes, length);
    if (!what)
        what = find(strangers, sizeof strangers / sizeof *strangers, bytes, length);
    if (!what && is_pickle(bytes, length))
        what = "looks like a Python pickle";
    return what;
}

const char *strangers_describe(const char *bytes, size_t length)
{
    const char *stranger = strangers_find(bytes, length);
    if (length == 0)
        return "empty file";
    if (stranger)
        return stranger;
    if (memchr(bytes, '\0', length))
        return "unknown binary data";
    char first = first_sign(bytes, length);
    return first == '{' || first == '[' ? "JSON, but no known format" : "neither JSON nor a known log";
}

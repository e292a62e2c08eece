/* Archives of traces, which are not read: the commands that unpack one and diagnose what is in it. */
#include "base/base.h"
#include "format/internal.h"

#include <string.h>

/* The endings of names, and the program that unpacks; the longer ending first. */
static const struct archive {
    const char *ending;
    const char *before; /* the command before the name of the file */
    const char *after;  /* and after it, before the name of the directory */
} archives[] = {
    {".tar.lz4", "lz4 -dc ", " | tar -x -C "},
    {".tar.zst", "tar --zstd -xf ", " -C "},
    {".tzst", "tar --zstd -xf ", " -C "},
    {".tar.bz2", "tar -xf ", " -C "},
    {".tbz2", "tar -xf ", " -C "},
    {".tar.xz", "tar -xf ", " -C "},
    {".txz", "tar -xf ", " -C "},
    {".tar.gz", "tar -xf ", " -C "},
    {".tgz", "tar -xf ", " -C "},
    {".tar", "tar -xf ", " -C "},
    {".zip", "unzip -q ", " -d "},
};

/* The kind by the name of the file; NULL: none. */
static const struct archive *kind_of(const char *path)
{
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof archives / sizeof *archives; i++) {
        size_t ending = strlen(archives[i].ending);
        if (length > ending && strcmp(path + length - ending, archives[i].ending) == 0)
            return &archives[i];
    }
    return NULL;
}

int archive_is_named(const char *path)
{
    return kind_of(path) != NULL;
}

int archive_is_content(const char *bytes, size_t length)
{
    static const char tar[] = "ustar", zip[] = "PK\3\4";
    enum { TAR_OFFSET = 257 };
    return (length >= TAR_OFFSET + sizeof tar - 1 && memcmp(bytes + TAR_OFFSET, tar, sizeof tar - 1) == 0) ||
           (length >= sizeof zip - 1 && memcmp(bytes, zip, sizeof zip - 1) == 0);
}

/* Appends the name of the directory: that of the file without its ending, in the current directory. */
static int append_directory(const char *path, const struct archive *kind, struct buffer *text)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    struct buffer directory = BUFFER_INIT;
    int failed = buffer_append(&directory, name, strlen(name) - strlen(kind->ending)) ||
                 text_shell_word(text, directory.length ? directory.data : "traces");
    buffer_release(&directory);
    return failed;
}

int archive_append_command(const char *path, struct buffer *text)
{
    const struct archive *kind = kind_of(path);
    if (!kind)
        return buffer_append_text(text, "unpack it and pass the directory");
    return buffer_append_text(text, "run: mkdir ") || append_directory(path, kind, text) ||
                   buffer_append_text(text, " && ") || buffer_append_text(text, kind->before) ||
                   text_shell_word(text, path) || buffer_append_text(text, kind->after) ||
                   append_directory(path, kind, text) || buffer_append_text(text, " && ncclprof diagnose ") ||
                   append_directory(path, kind, text)
               ? -1
               : 0;
}

/*
 * Output files: plain, gzip-compressed, or written through a descriptor. Content goes to a temporary file,
 * which replaces the target only when it is complete. Also compresses single buffers for Parquet.
 */
#include "base/base.h"
#include "output/internal.h"
#include "output/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/*
 * Compression level: traces shrink by a factor of ten or more at any level, and higher levels cost more time
 * than they save bytes.
 */
enum { PENDING_BYTES = 128 * 1024, GZIP_LEVEL = 4, GZIP_WINDOW = 15 + 16, GZIP_MEMORY = 8, MOST_NAMES = 100 };

struct output {
    char *path;      /* as given by the user, for messages */
    char *target;    /* the file to replace; NULL: written directly */
    char *temporary; /* name of the temporary file until output_close; NULL: the file has no name */
    int descriptor;
    int is_gzip;
    int is_named; /* the file already has its final name */
    uint64_t bytes;
    z_stream stream;
    size_t pending;
    unsigned char data[PENDING_BYTES];
};

static int fail(const struct output *output, int number, const char *what, struct error *error)
{
    return error_set_errno(error, number, "%s: %s", output->path, what);
}

static int write_all(struct output *output, const unsigned char *bytes, size_t length, struct error *error)
{
    while (length) {
        ssize_t count = write(output->descriptor, bytes, length);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return fail(output, errno, "cannot be written", error);
        bytes += count;
        length -= (size_t)count;
    }
    return 0;
}

int output_flush(struct output *output, struct error *error)
{
    size_t length = output->pending;
    output->pending = 0;
    return write_all(output, output->data, length, error);
}

static int append_plain(struct output *output, const unsigned char *bytes, size_t length, struct error *error)
{
    if (length > PENDING_BYTES - output->pending && output_flush(output, error))
        return -1;
    if (length >= PENDING_BYTES)
        return write_all(output, bytes, length, error);
    memcpy(output->data + output->pending, bytes, length);
    output->pending += length;
    return 0;
}

/* Compresses the pending input and writes the result. */
static int deflate_input(struct output *output, int how, struct error *error)
{
    z_stream *stream = &output->stream;
    int state;
    do {
        if (output->pending == PENDING_BYTES && output_flush(output, error))
            return -1;
        stream->next_out = output->data + output->pending;
        stream->avail_out = (uInt)(PENDING_BYTES - output->pending);
        state = deflate(stream, how);
        output->pending = PENDING_BYTES - stream->avail_out;
        if (state == Z_STREAM_ERROR)
            return error_set(error, "%s: cannot be compressed", output->path);
    } while (how == Z_FINISH ? state != Z_STREAM_END : stream->avail_in > 0);
    return 0;
}

static int append_gzip(struct output *output, const unsigned char *bytes, size_t length, struct error *error)
{
    while (length) {
        size_t part = length > INT_MAX ? INT_MAX : length;
        output->stream.next_in = (unsigned char *)(uintptr_t)bytes;
        output->stream.avail_in = (uInt)part;
        if (deflate_input(output, Z_NO_FLUSH, error))
            return -1;
        bytes += part;
        length -= part;
    }
    return 0;
}

int output_write(struct output *output, const void *bytes, size_t length, struct error *error)
{
    output->bytes += length;
    if (length == 0)
        return 0;
    return output->is_gzip ? append_gzip(output, bytes, length, error)
                           : append_plain(output, bytes, length, error);
}

int output_text(struct output *output, const char *text, struct error *error)
{
    return output_write(output, text, strlen(text), error);
}

int output_printf(struct output *output, struct error *error, const char *format, ...)
{
    char text[512];
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(text, sizeof text, format, arguments), outcome = -1;
    char *longer = NULL;
    if (length < 0)
        error_set_errno(error, errno, "%s: cannot be written", output->path);
    else if ((size_t)length < sizeof text)
        outcome = output_write(output, text, (size_t)length, error);
    else if (vasprintf(&longer, format, again) < 0)
        error_no_memory(error);
    else {
        outcome = output_write(output, longer, (size_t)length, error);
        free(longer);
    }
    va_end(again);
    va_end(arguments);
    return outcome;
}

int output_descriptor(const struct output *output)
{
    return output->descriptor;
}

uint64_t output_bytes(const struct output *output)
{
    return output->bytes;
}

/*
 * Sets *folder to the directory of the target, with a slash at the end. Returns the file name within
 * `target`.
 */
static const char *split(const char *target, struct buffer *folder)
{
    const char *slash = strrchr(target, '/'), *name = slash ? slash + 1 : target;
    return buffer_append(folder, target, (size_t)(name - target)) ? NULL : name;
}

/* Finds an unused name next to the target. `make` creates the file and returns a descriptor, or -1. */
static int make_temporary(struct output *output, int (*make)(struct output *output, const char *path),
                          struct error *error)
{
    struct buffer path = BUFFER_INIT;
    const char *name = split(output->target, &path);
    size_t folder = path.length;
    int descriptor = -1, failed = !name;
    for (int i = 0; i < MOST_NAMES && !failed && descriptor < 0; i++) {
        path.length = folder;
        failed = buffer_printf(&path, ".%s.%ld.%d", name, (long)getpid(), i);
        if (!failed && (descriptor = make(output, path.data)) < 0 && errno != EEXIST)
            break;
    }
    int number = errno;
    if (descriptor >= 0)
        output->temporary = buffer_detach(&path);
    buffer_release(&path);
    if (failed)
        return error_no_memory(error);
    return descriptor >= 0 ? descriptor : fail(output, number, "cannot be created", error);
}

static int make_named(struct output *output, const char *path)
{
    return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
}

static int link_nameless(struct output *output, const char *path)
{
    char own[32];
    snprintf(own, sizeof own, "/proc/self/fd/%d", output->descriptor);
    return linkat(AT_FDCWD, own, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

/*
 * Opens a file without a name, which disappears with the process. Returns -1 if the file system does not
 * support this, or if the file could not be named later.
 */
static int open_nameless(const char *target)
{
    struct buffer folder = BUFFER_INIT;
    int descriptor = -1;
    if (access("/proc/self/fd", X_OK) == 0 && split(target, &folder) && buffer_append_text(&folder, ".") == 0)
        descriptor = open(folder.data, O_RDWR | O_TMPFILE | O_CLOEXEC, 0666);
    buffer_release(&folder);
    return descriptor;
}

static int keep_mode(const struct output *output, const struct stat *before, struct error *error)
{
    return fchmod(output->descriptor, before->st_mode & 07777)
               ? fail(output, errno, "cannot keep the mode of the file", error)
               : 0;
}

static int open_replacement(struct output *output, struct error *error)
{
    output->descriptor = open_nameless(output->target);
    if (output->descriptor < 0)
        output->descriptor = make_temporary(output, make_named, error);
    return output->descriptor < 0 ? -1 : 0;
}

static int open_as_it_is(struct output *output, struct error *error)
{
    output->descriptor = open(output->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return output->descriptor < 0 ? fail(output, errno, "cannot be opened", error) : 0;
}

static int open_path(struct output *output, enum output_kind kind, struct error *error)
{
    struct stat before;
    if (strcmp(output->path, "-") == 0 && kind == OUTPUT_BY_DESCRIPTOR)
        return error_set(error, "this format needs a file, not standard output");
    if (strcmp(output->path, "-") == 0) {
        output->descriptor = STDOUT_FILENO;
        return 0;
    }
    int exists = stat(output->path, &before) == 0;
    if (exists && S_ISDIR(before.st_mode))
        return error_set(error, "%s: is a directory", output->path);
    if (exists && !S_ISREG(before.st_mode) && kind == OUTPUT_BY_DESCRIPTOR)
        return error_set(error, "%s: is not a regular file", output->path);
    if (exists && !S_ISREG(before.st_mode))
        return open_as_it_is(output, error);
    if (exists && access(output->path, W_OK))
        return fail(output, errno, "cannot be written", error);
    output->target = exists ? realpath(output->path, NULL) : strdup(output->path);
    if (!output->target)
        return errno == ENOMEM ? error_no_memory(error) : fail(output, errno, "cannot be found", error);
    return open_replacement(output, error) || (exists && keep_mode(output, &before, error)) ? -1 : 0;
}

static int open_gzip(struct output *output, struct error *error)
{
    int state =
        deflateInit2(&output->stream, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY, Z_DEFAULT_STRATEGY);
    if (state != Z_OK)
        return state == Z_MEM_ERROR ? error_no_memory(error)
                                    : error_set(error, "%s: cannot be compressed", output->path);
    output->is_gzip = 1;
    return 0;
}

struct output *output_open(const char *path, enum output_kind kind, struct error *error)
{
    struct output *output = calloc(1, sizeof *output);
    if (output)
        output->descriptor = -1;
    if (!output || !(output->path = strdup(path))) {
        error_no_memory(error);
        output_discard(output);
        return NULL;
    }
    if (open_path(output, kind, error) || (kind == OUTPUT_GZIP && open_gzip(output, error))) {
        output_discard(output);
        return NULL;
    }
    return output;
}

/* A write error may be reported as late as here. */
static int close_descriptor(struct output *output, struct error *error)
{
    int descriptor = output->descriptor;
    output->descriptor = -1;
    return descriptor != STDOUT_FILENO && close(descriptor) ? fail(output, errno, "cannot be written", error)
                                                            : 0;
}

static int take_name(struct output *output, struct error *error)
{
    if (!output->target)
        return close_descriptor(output, error);
    if (!output->temporary && make_temporary(output, link_nameless, error) < 0)
        return -1;
    if (close_descriptor(output, error))
        return -1;
    if (rename(output->temporary, output->target))
        return fail(output, errno, "cannot rename the temporary file", error);
    output->is_named = 1;
    return 0;
}

int output_close(struct output *output, struct error *error)
{
    int outcome = output->is_gzip ? deflate_input(output, Z_FINISH, error) : 0;
    if (outcome == 0)
        outcome = output_flush(output, error) || take_name(output, error) ? -1 : 0;
    output_discard(output);
    return outcome;
}

void output_discard(struct output *output)
{
    if (!output)
        return;
    if (output->is_gzip)
        deflateEnd(&output->stream);
    if (output->descriptor >= 0 && output->descriptor != STDOUT_FILENO)
        close(output->descriptor);
    if (output->temporary && !output->is_named)
        unlink(output->temporary);
    free(output->temporary);
    free(output->target);
    free(output->path);
    free(output);
}

/*
 * Compression level: columns of numbers shrink at any level, and higher levels cost more time than they save
 * bytes.
 */
enum { GZIP_GZIP_LEVEL = 1, GZIP_GZIP_WINDOW = 15 + 16, GZIP_GZIP_MEMORY = 8 };

struct gzip {
    z_stream stream;
};

struct gzip *gzip_new(struct error *error)
{
    struct gzip *gzip = calloc(1, sizeof *gzip);
    if (gzip && deflateInit2(&gzip->stream, GZIP_GZIP_LEVEL, Z_DEFLATED, GZIP_GZIP_WINDOW, GZIP_GZIP_MEMORY,
                             Z_DEFAULT_STRATEGY) == Z_OK)
        return gzip;
    free(gzip);
    error_no_memory(error);
    return NULL;
}

void gzip_free(struct gzip *gzip)
{
    if (!gzip)
        return;
    deflateEnd(&gzip->stream);
    free(gzip);
}

int gzip_pack(struct gzip *gzip, const void *bytes, size_t length, struct buffer *packed, struct error *error)
{
    z_stream *stream = &gzip->stream;
    if (deflateReset(stream) != Z_OK)
        return error_set(error, "zlib cannot start");
    size_t most = deflateBound(stream, (uLong)length);
    if (buffer_reserve(packed, most))
        return error_no_memory(error);
    stream->next_in = (unsigned char *)(uintptr_t)bytes;
    stream->avail_in = (uInt)length;
    stream->next_out = (unsigned char *)packed->data + packed->length;
    stream->avail_out = (uInt)most;
    if (deflate(stream, Z_FINISH) != Z_STREAM_END)
        return error_set(error, "zlib cannot compress %zu bytes", length);
    packed->length += most - stream->avail_out;
    packed->data[packed->length] = '\0';
    return 0;
}

int render_check(FILE *stream, struct error *error)
{
    int number = errno;
    return ferror(stream) ? error_set_errno(error, number, "cannot write output") : 0;
}

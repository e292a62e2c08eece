/*
 * Reads a file, pipe or standard input, and unpacks gzip data if there is any. Enforces the limits, and
 * computes the digest of the raw bytes. This is the first stage of all input.
 */
#include "base/base.h"
#include "input/input.h"
#include "input/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { RAW_BYTES = 64 * 1024, RATIO_FROM_BYTES = 16 << 20, LOOK_MS = 100 };

enum packing { PACKING_UNDECIDED, PACKING_NONE, PACKING_GZIP };

struct source {
    char *path;
    int descriptor;
    int may_block; /* not a regular file */
    struct input_limits limits;
    enum packing packing;
    uint64_t size;
    int64_t modified_ns;
    uint64_t most_bytes; /* how many bytes may be read from the file */
    uint64_t read_bytes;
    uint64_t unpacked_bytes;
    struct digest digest;
    z_stream stream;
    int in_member;  /* inside a gzip member, after its first byte */
    int any_member; /* a member has ended: another one or padding may follow */
    int at_end;     /* the descriptor is at its end */
    size_t raw_at;
    size_t raw_end;
    unsigned char raw[RAW_BYTES];
};

static int refuse_kind(const char *path, mode_t mode, struct error *error)
{
    if (S_ISDIR(mode))
        return error_set(error, "%s: is a directory", path);
    if (S_ISBLK(mode) || S_ISCHR(mode))
        return error_set(error, "%s: is a device", path);
    if (S_ISSOCK(mode))
        return error_set(error, "%s: is a socket", path);
    return 0;
}

static int64_t nanoseconds(struct timespec time)
{
    int64_t ns;
    return __builtin_mul_overflow((int64_t)time.tv_sec, INT64_C(1000000000), &ns) ||
                   __builtin_add_overflow(ns, (int64_t)time.tv_nsec, &ns)
               ? INT64_MIN
               : ns;
}

static int open_descriptor(struct source *source, const char *path, struct error *error)
{
    struct stat status;
    int is_standard_input = strcmp(path, "-") == 0;
    /*
     * O_NONBLOCK: opening a pipe without a writer must not block, since a blocked reader cannot be stopped.
     */
    source->descriptor =
        is_standard_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (source->descriptor < 0)
        return error_set_errno(error, errno, "%s: cannot be opened", path);
    if (fstat(source->descriptor, &status))
        return error_set_errno(error, errno, "%s: cannot be examined", path);
    if (!is_standard_input && refuse_kind(path, status.st_mode, error))
        return -1;
    if (!is_standard_input && fcntl(source->descriptor, F_SETFL, O_RDONLY))
        return error_set_errno(error, errno, "%s: cannot be read", path);
    source->may_block = !S_ISREG(status.st_mode);
    if (S_ISREG(status.st_mode) && status.st_size > 0)
        source->size = (uint64_t)status.st_size;
    source->modified_ns = S_ISREG(status.st_mode) ? nanoseconds(status.st_mtim) : INT64_MIN;
    return 0;
}

struct source *source_open(const char *path, const struct input_limits *limits, struct error *error)
{
    struct source *source = calloc(1, sizeof *source);
    if (!source) {
        error_no_memory(error);
        return NULL;
    }
    source->descriptor = -1;
    source->most_bytes = UINT64_MAX;
    source->path = strdup(path);
    if (limits)
        source->limits = *limits;
    digest_init(&source->digest);
    if (!source->path ? error_no_memory(error) : open_descriptor(source, path, error)) {
        source_close(source);
        return NULL;
    }
    return source;
}

struct source *source_open_part(const char *path, const struct input_limits *limits, uint64_t begin,
                                uint64_t end, struct error *error)
{
    struct source *source = source_open(path, limits, error);
    if (!source)
        return NULL;
    source->packing = PACKING_NONE;
    source->most_bytes = end - begin;
    if (lseek(source->descriptor, (off_t)begin, SEEK_SET) == (off_t)begin)
        return source;
    error_set_errno(error, errno, "%s: cannot be read from byte %llu on", path, (unsigned long long)begin);
    source_close(source);
    return NULL;
}

void source_close(struct source *source)
{
    if (!source)
        return;
    if (source->packing == PACKING_GZIP)
        inflateEnd(&source->stream);
    if (source->descriptor > STDIN_FILENO)
        close(source->descriptor);
    free(source->path);
    free(source);
}

/* Waits until there are bytes to read or the caller wants to stop. */
static int wait_for_bytes(const struct source *source, struct error *error)
{
    const struct input_limits *limits = &source->limits;
    struct pollfd wanted = {.fd = source->descriptor, .events = POLLIN};
    int ready = !source->may_block;
    do {
        if (limits->stopped && limits->stopped(limits->context))
            return error_set(error, "%s: reading was stopped", source->path);
        if (!ready)
            ready = poll(&wanted, 1, LOOK_MS);
    } while (ready == 0 || (ready < 0 && errno == EINTR));
    return 0;
}

/*
 * Changes the digest. A retry may read more of the file, so this partial content must not pass as the same.
 */
static void change_digest(struct source *source)
{
    static const char unlike[] = "not all of it was read";
    digest_update(&source->digest, unlike, sizeof unlike);
}

/* One read of the descriptor, added to the count and the digest. */
static int64_t read_raw(struct source *source, void *bytes, size_t length, struct error *error)
{
    ssize_t got;
    if (length > source->most_bytes - source->read_bytes)
        length = (size_t)(source->most_bytes - source->read_bytes);
    if (wait_for_bytes(source, error))
        return -1;
    do
        got = read(source->descriptor, bytes, length);
    while (got < 0 && errno == EINTR);
    if (got < 0) {
        int number = errno;
        change_digest(source);
        return error_set_errno(error, number, "%s: cannot be read past byte %llu", source->path,
                               (unsigned long long)source->read_bytes);
    }
    if (got == 0)
        source->at_end = 1;
    digest_update(&source->digest, bytes, (size_t)got);
    source->read_bytes += (uint64_t)got;
    return got;
}

/* Fills the raw buffer until it holds `wanted` bytes or the descriptor is at its end. */
static int fill_raw(struct source *source, size_t wanted, struct error *error)
{
    if (source->raw_at == source->raw_end)
        source->raw_at = source->raw_end = 0;
    while (source->raw_end - source->raw_at < wanted && !source->at_end) {
        int64_t got =
            read_raw(source, source->raw + source->raw_end, sizeof source->raw - source->raw_end, error);
        if (got < 0)
            return -1;
        source->raw_end += (size_t)got;
    }
    return 0;
}

static int decide_packing(struct source *source, struct error *error)
{
    const unsigned char *raw = source->raw;
    if (fill_raw(source, 3, error))
        return -1;
    if (source->raw_end < 3 || raw[0] != 0x1f || raw[1] != 0x8b || raw[2] != Z_DEFLATED) {
        source->packing = PACKING_NONE;
        return 0;
    }
    if (inflateInit2(&source->stream, 16 + MAX_WBITS) != Z_OK)
        return error_no_memory(error);
    source->packing = PACKING_GZIP;
    return 0;
}

static int64_t read_plain(struct source *source, char *bytes, size_t length, struct error *error)
{
    size_t held = source->raw_end - source->raw_at;
    if (held == 0)
        return source->at_end ? 0 : read_raw(source, bytes, length, error);
    if (held > length)
        held = length;
    memcpy(bytes, source->raw + source->raw_at, held);
    source->raw_at += held;
    return (int64_t)held;
}

static int damaged(struct source *source, const char *how, struct error *error)
{
    return error_set(error, "%s: gzip data %s near byte %llu of the compressed file", source->path, how,
                     (unsigned long long)(source->read_bytes - (source->raw_end - source->raw_at)));
}

static int within_limits(const struct source *source, struct error *error)
{
    const struct input_limits *limits = &source->limits;
    if (limits->unpacked_bytes && source->unpacked_bytes > limits->unpacked_bytes)
        return error_set(error, "%s: unpacks to more than the %llu bytes allowed", source->path,
                         (unsigned long long)limits->unpacked_bytes);
    if (limits->unpack_ratio && source->unpacked_bytes > RATIO_FROM_BYTES &&
        source->unpacked_bytes / limits->unpack_ratio > source->read_bytes)
        return error_set(error, "%s: unpacks to more than %llu times its size", source->path,
                         (unsigned long long)limits->unpack_ratio);
    return 0;
}

/* Adds the rest of the file to the count and the digest without unpacking it. */
static void skip_rest(struct source *source)
{
    while (!source->at_end) {
        source->raw_at = source->raw_end;
        if (fill_raw(source, 1, NULL))
            return;
    }
    source->raw_at = source->raw_end;
}

/* Skips zero bytes, with which tapes and some writers pad a file. */
static int skip_zeros(struct source *source, struct error *error)
{
    while (source->raw_at < source->raw_end && source->raw[source->raw_at] == 0) {
        source->raw_at++;
        if (fill_raw(source, 1, error))
            return -1;
    }
    return 0;
}

/* Between gzip members: returns 1 if another one begins, 0 at the end of the compressed data, -1 on error. */
static int next_member(struct source *source, struct error *error)
{
    if (fill_raw(source, 1, error) || (source->any_member && skip_zeros(source, error)))
        return -1;
    if (source->raw_at == source->raw_end)
        return 0;
    if (source->any_member && inflateReset(&source->stream) != Z_OK)
        return damaged(source, "cannot be continued", error);
    source->in_member = 1;
    return 1;
}

/*
 * One call of inflate. Returns the number of bytes gained; 0 if there were none (check in_member, or call
 * again); -1 on error.
 */
static int64_t inflate_some(struct source *source, char *bytes, size_t length, struct error *error)
{
    z_stream *stream = &source->stream;
    if (fill_raw(source, 1, error))
        return -1;
    if (source->raw_at == source->raw_end)
        return damaged(source, "is truncated", error);
    stream->next_in = source->raw + source->raw_at;
    stream->avail_in = (uInt)(source->raw_end - source->raw_at);
    stream->next_out = (Bytef *)bytes;
    stream->avail_out = (uInt)length;
    int status = inflate(stream, Z_NO_FLUSH);
    source->raw_at = source->raw_end - stream->avail_in;
    int64_t got = (int64_t)(length - stream->avail_out);
    if (status == Z_STREAM_END) {
        source->in_member = 0;
        source->any_member = 1;
    } else if (status == Z_MEM_ERROR) {
        return error_no_memory(error);
    } else if (status != Z_OK && got == 0) {
        return damaged(source, "is damaged", error);
    }
    return got;
}

static int64_t read_gzip(struct source *source, char *bytes, size_t length, struct error *error)
{
    int64_t got = 0;
    if (length > INT32_MAX)
        length = INT32_MAX;
    while (got == 0) {
        int more = source->in_member ? 1 : next_member(source, error);
        if (more <= 0)
            return more;
        got = inflate_some(source, bytes, length, error);
    }
    return got;
}

int64_t source_read(struct source *source, char *bytes, size_t length, struct error *error)
{
    if (source->packing == PACKING_UNDECIDED && decide_packing(source, error))
        return -1;
    if (source->packing == PACKING_NONE) {
        int64_t plain = read_plain(source, bytes, length, error);
        source->unpacked_bytes += plain > 0 ? (uint64_t)plain : 0;
        return plain;
    }
    int64_t got = read_gzip(source, bytes, length, error);
    if (got > 0)
        source->unpacked_bytes += (uint64_t)got;
    if (got >= 0 && !within_limits(source, error))
        return got;
    if (got >= 0)
        change_digest(source);
    else
        skip_rest(source); /* so that the digest still covers the whole file */
    return -1;
}

int source_is_packed(const struct source *source)
{
    return source->packing == PACKING_GZIP;
}

uint64_t source_bytes_read(const struct source *source)
{
    return source->read_bytes;
}

uint64_t source_bytes_unpacked(const struct source *source)
{
    return source->unpacked_bytes;
}

uint64_t source_size(const struct source *source)
{
    return source->size;
}

int64_t source_modified_ns(const struct source *source)
{
    return source->modified_ns;
}

void source_digest(const struct source *source, char text[33])
{
    digest_hex(&source->digest, text);
}

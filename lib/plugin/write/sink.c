/* Lets zlib take what we only read. */
#define ZLIB_CONST

#include "plugin/write/write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define END_BYTES 64
/* A file never loses more at its end for a line that says why it ends. */
#define LAST_LINES_MOST (off_t)(3 * SINK_LAST_BYTES + TEXT_LINE_MAX)

struct sink_gzip {
    z_stream stream;
    /* What would end the file where it was last whole, without an ending: it is to come back after a failure.
     */
    unsigned char end[END_BYTES];
    size_t end_length;
    off_t end_at;
    unsigned char bytes[64 << 10];
};

static int gzip_open(struct sink *sink)
{
    sink->gzip = calloc(1, sizeof(*sink->gzip));
    if (!sink->gzip)
        return -1;
    /* 15 + 16: the largest window, gzip's frame. Level 1: tracing must not compete with the job. */
    if (deflateInit2(&sink->gzip->stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK)
        return 0;
    free(sink->gzip);
    sink->gzip = NULL;
    errno = ENOMEM;
    return -1;
}

/* Out of the way of programs that close or count on low descriptors, and known again later. */
static int identify(struct sink *sink)
{
    struct stat now;
    int higher = fcntl(sink->file, F_DUPFD_CLOEXEC, 400);
    if (higher >= 0) {
        close(sink->file);
        sink->file = higher;
    }
    if (fstat(sink->file, &now) != 0)
        return -1;
    sink->device = now.st_dev;
    sink->inode = now.st_ino;
    sink->tells_links = now.st_nlink > 0;
    return 0;
}

/* Before the job may change its working directory: the file may be made later. */
static void make_absolute(char *path, size_t size)
{
    char directory[4096];
    size_t length = strlen(path) + 1;
    if (path[0] == '/' || !getcwd(directory, sizeof(directory) - 1))
        return;
    size_t more = strlen(directory);
    directory[more++] = '/';
    if (directory[0] != '/' || more + length > size)
        return;
    memmove(path + more, path, length);
    /* The path behind it ends the text. NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
    memcpy(path, directory, more);
}

int sink_prepare(struct sink *sink, const char *pattern, int rank, const char *suffix, bool gzip)
{
    *sink = (struct sink){.file = -1};
    snprintf(sink->suffix, sizeof(sink->suffix), "%s%s", suffix, gzip ? ".gz" : "");
    if (path_expand(sink->path, sizeof(sink->path), pattern, rank, sink->suffix) != 0) {
        errno = ENAMETOOLONG;
        return -1;
    }
    make_absolute(sink->path, sizeof(sink->path));
    sink->text.bytes = malloc(SINK_BYTES);
    if (!sink->text.bytes || (gzip && gzip_open(sink) != 0)) {
        sink_close(sink);
        errno = ENOMEM;
        return -1;
    }
    return 0;
}

int sink_create(struct sink *sink)
{
    sink->file = path_create(sink->path, sizeof(sink->path), sink->suffix);
    if (sink->file >= 0 && identify(sink) == 0)
        return 0;
    int reason = errno;
    sink_close(sink);
    errno = reason;
    return -1;
}

/* 0, or errno. */
static int write_at(const struct sink *sink, const unsigned char *bytes, size_t length, off_t at)
{
    while (length > 0) {
        ssize_t done = pwrite(sink->file, bytes, length, at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? errno : EIO;
        bytes += done;
        length -= (size_t)done;
        at += done;
    }
    return 0;
}

/* Whatever was written over the end of a compressed file goes, and the end comes back: its room was there. */
static void restore_end(struct sink *sink)
{
    const struct sink_gzip *gzip = sink->gzip;
    bool is_whole = write_at(sink, gzip->end, gzip->end_length, gzip->end_at) == 0;
    if (ftruncate(sink->file, gzip->end_at + (is_whole ? (off_t)gzip->end_length : 0)) != 0)
        sink->failure = errno;
}

/* Behind `length` bytes more that begin a line and end one. */
static void note_last_lines(struct sink *sink, const unsigned char *bytes, size_t length)
{
    off_t here = (off_t)sink->written;
    size_t start = length > SINK_LAST_BYTES ? length - SINK_LAST_BYTES : 0;
    while (start > 0 && bytes[start - 1] != '\n')
        start--;
    sink->written += length;
    if (length >= SINK_LAST_BYTES) {
        sink->last_lines = sink->later_lines = here + (off_t)start;
    } else if ((off_t)sink->written - sink->later_lines >= SINK_LAST_BYTES) {
        sink->last_lines = sink->later_lines;
        sink->later_lines = here;
    }
}

/* Of a write that failed half-way only the whole lines are kept: the rest would spoil the line after it. */
static void keep_whole_lines(struct sink *sink, const unsigned char *bytes, size_t done)
{
    size_t whole = done;
    while (whole > 0 && bytes[whole - 1] != '\n')
        whole--;
    if (sink->gzip) {
        restore_end(sink);
        return;
    }
    off_t end = lseek(sink->file, 0, SEEK_CUR);
    if (end < 0)
        return;
    note_last_lines(sink, bytes, whole);
    if (ftruncate(sink->file, end - (off_t)(done - whole)) != 0)
        sink->failure = errno;
}

static bool is_ours(const struct sink *sink, const struct stat *now)
{
    return now->st_dev == sink->device && now->st_ino == sink->inode;
}

static bool still_ours(const struct sink *sink)
{
    struct stat now;
    return fstat(sink->file, &now) == 0 && is_ours(sink, &now);
}

bool sink_is_deleted(const struct sink *sink)
{
    struct stat now;
    if (fstat(sink->file, &now) != 0)
        return errno == ESTALE;
    return sink->tells_links && now.st_nlink == 0 && is_ours(sink, &now);
}

static void write_bytes(struct sink *sink, const void *from, size_t length)
{
    if (!sink->failure && length > 0 && !still_ours(sink)) {
        sink->failure = EBADF;
        return;
    }
    const unsigned char *start = from;
    const unsigned char *bytes = from;
    while (length > 0 && !sink->failure) {
        ssize_t done = write(sink->file, bytes, length);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            sink->failure = done < 0 ? errno : EIO;
            keep_whole_lines(sink, start, (size_t)(bytes - start));
            return;
        }
        bytes += done;
        length -= (size_t)done;
    }
    if (!sink->failure)
        note_last_lines(sink, start, (size_t)(bytes - start));
}

static void write_compressed(struct sink *sink, int mode)
{
    z_stream *stream = &sink->gzip->stream;
    stream->next_in = (unsigned char *)sink->text.bytes;
    stream->avail_in = (unsigned)sink->text.length;
    do {
        stream->next_out = sink->gzip->bytes;
        stream->avail_out = sizeof(sink->gzip->bytes);
        if (deflate(stream, mode) == Z_STREAM_ERROR)
            sink->failure = EIO;
        write_bytes(sink, sink->gzip->bytes, sizeof(sink->gzip->bytes) - stream->avail_out);
    } while (stream->avail_out == 0 && !sink->failure);
}

/* What would end the compressed stream here, `ending` as its last text. 0: memory is short. */
static size_t compressed_end(const struct sink *sink, const char *ending, unsigned char *end, size_t room)
{
    z_stream copy;
    if (deflateCopy(&copy, &sink->gzip->stream) != Z_OK)
        return 0;
    copy.next_in = (const unsigned char *)ending;
    copy.avail_in = (unsigned)strlen(ending);
    copy.next_out = end;
    copy.avail_out = (unsigned)room;
    size_t length = deflate(&copy, Z_FINISH) == Z_STREAM_END ? room - copy.avail_out : 0;
    deflateEnd(&copy);
    return length;
}

static void lose_lines(struct sink *sink)
{
    for (size_t i = 0; i < sink->text.length; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.*): where there are no bytes, the length is 0 */
        sink->lines_lost += sink->text.bytes[i] == '\n';
    sink->text.length = 0;
}

static void write_compressed_end(struct sink *sink, const char *ending, off_t here)
{
    unsigned char end[END_BYTES];
    size_t length = compressed_end(sink, ending, end, sizeof(end));
    int failure = write_at(sink, end, length, here);
    if (failure) {
        sink->failure = failure;
        sink->has_ending = false;
        /* Lines that were written since the last whole end go with what is behind it. */
        restore_end(sink);
        lose_lines(sink);
        return;
    }
    /* What ended the file before may be longer. */
    if (ftruncate(sink->file, here + (off_t)length) != 0)
        sink->failure = errno;
    sink->has_ending = length > 0 && ending[0];
    length = compressed_end(sink, "", end, sizeof(end));
    if (length == 0)
        return; /* the end before is better than none */
    memcpy(sink->gzip->end, end, length);
    sink->gzip->end_length = length;
    sink->gzip->end_at = here;
}

/*
 * What would end the file here, behind all that is written and overwritten by what comes next: a process that
 * is killed leaves a whole gzip file, not one that viewers refuse, and one that leaves by _exit() a whole
 * array. Best effort: the lines are safe, but for those behind a compressed file's last whole end.
 */
static void write_end(struct sink *sink, const char *ending)
{
    size_t length = strlen(ending);
    off_t here = sink->failure || !still_ours(sink) ? -1 : lseek(sink->file, 0, SEEK_CUR);
    if (here < 0)
        return;
    if (sink->gzip) {
        write_compressed_end(sink, ending, here);
        return;
    }
    bool is_whole = pwrite(sink->file, ending, length, here) == (ssize_t)length;
    /* What ended the file before may be longer, and no half of an end may stay. */
    if ((sink->has_ending || !is_whole) && ftruncate(sink->file, here + (is_whole ? (off_t)length : 0)) != 0)
        sink->failure = errno;
    sink->has_ending = is_whole && length > 0 && ending[0];
}

static void put_out(struct sink *sink, int mode)
{
    if (!sink->failure && sink->gzip)
        write_compressed(sink, mode);
    else if (!sink->failure)
        write_bytes(sink, sink->text.bytes, sink->text.length);
    if (sink->failure)
        lose_lines(sink);
}

void sink_flush(struct sink *sink, const char *ending)
{
    if (sink->file < 0 || (sink->text.length == 0 && sink->has_ending == (ending[0] != '\0')))
        return;
    /* Taken back first: where the write fails, the file must not look as if nothing were missing. */
    if (sink->has_ending)
        write_end(sink, "");
    if (sink->text.length > 0)
        put_out(sink, Z_SYNC_FLUSH);
    if (sink->gzip || ending[0])
        write_end(sink, ending);
    sink->text.length = 0;
}

void sink_end_with(struct sink *sink)
{
    size_t length = sink->text.length;
    bool is_near = sink->last_lines > 0 && (off_t)sink->written - sink->last_lines <= LAST_LINES_MOST;
    sink->text.length = 0;
    if (sink->file < 0 || sink->gzip || length > SINK_LAST_BYTES || !is_near || !still_ours(sink))
        return;
    if (ftruncate(sink->file, sink->last_lines) == 0 &&
        write_at(sink, (const unsigned char *)sink->text.bytes, length, sink->last_lines) != 0)
        (void)!ftruncate(sink->file, sink->last_lines);
}

static void release_memory(struct sink *sink)
{
    if (sink->gzip)
        deflateEnd(&sink->gzip->stream);
    free(sink->gzip);
    free(sink->text.bytes);
    sink->gzip = NULL;
    sink->text = (struct text){0};
}

void sink_close(struct sink *sink)
{
    if (sink->file >= 0) {
        put_out(sink, Z_FINISH);
        if (still_ours(sink) && close(sink->file) != 0 && !sink->failure)
            sink->failure = errno;
    }
    sink->file = -1;
    release_memory(sink);
}

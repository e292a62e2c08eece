/*
 * One output file: buffers lines, compresses them if requested, and keeps the file readable after each flush
 * and after a failed write.
 */
/* Lets zlib take const input. */
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
/* A file loses no more than this at its end for the line that reports why it ends. */
#define LAST_LINES_MOST (off_t)(3 * SINK_LAST_BYTES + TEXT_LINE_MAX)

struct sink_gzip {
    z_stream stream;
    /*
     * The bytes that end the file at the last point where it was complete, without an ending. They are
     * restored after a failure.
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
    /*
     * 15 + 16: the largest window, in a gzip frame. Level 1, because tracing must not compete with the job.
     */
    if (deflateInit2(&sink->gzip->stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK)
        return 0;
    free(sink->gzip);
    sink->gzip = NULL;
    errno = ENOMEM;
    return -1;
}

/*
 * Moves the descriptor away from low numbers, which programs close or rely on, and stores the identity of the
 * file.
 */
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
    sink->counts_links = now.st_nlink > 0;
    return 0;
}

/*
 * Makes the path absolute before the job can change its working directory, because the file may be created
 * later.
 */
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
    /* The path that follows terminates the text. NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
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

/* Returns 0 or errno. */
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

/*
 * Removes what was written over the end of a compressed file and restores that end, which fits where it was.
 */
static void restore_end(struct sink *sink)
{
    const struct sink_gzip *gzip = sink->gzip;
    bool is_whole = write_at(sink, gzip->end, gzip->end_length, gzip->end_at) == 0;
    if (ftruncate(sink->file, gzip->end_at + (is_whole ? (off_t)gzip->end_length : 0)) != 0)
        sink->failure = errno;
}

/* Called after `length` more bytes were written, which begin and end with whole lines. */
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

/*
 * If a write fails halfway, only its whole lines are kept, because a partial line would spoil the next one.
 */
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
    return sink->counts_links && now.st_nlink == 0 && is_ours(sink, &now);
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

/*
 * Returns the bytes that end the compressed stream here, with `ending` as its last text. 0: memory is short.
 */
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
        /* Lines since the last complete end are lost with the bytes after it. */
        restore_end(sink);
        lose_lines(sink);
        return;
    }
    /* The previous end of the file may be longer. */
    if (ftruncate(sink->file, here + (off_t)length) != 0)
        sink->failure = errno;
    sink->has_ending = length > 0 && ending[0];
    length = compressed_end(sink, "", end, sizeof(end));
    if (length == 0)
        return; /* keep the previous end */
    memcpy(sink->gzip->end, end, length);
    sink->gzip->end_length = length;
    sink->gzip->end_at = here;
}

/*
 * Writes the end of the file after all lines; the next write overwrites it. So a process that is killed
 * leaves a complete gzip file that viewers accept, and one that leaves by _exit() a complete array. This is
 * best effort: on failure all lines are kept, except those after the last complete end of a compressed file.
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
    /* The previous end of the file may be longer, and a partial end must not stay. */
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
    /* Removes the ending first: if the write fails, the file must not look complete. */
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

#ifndef NCCLPROF_INPUT_INPUT_H
#define NCCLPROF_INPUT_INPUT_H

#include "base/error.h"
#include "base/hash.h"

#include <stddef.h>
#include <stdint.h>

/*
 * A file or standard input as a stream of unpacked bytes. gzip is recognised by content, whatever the name;
 * several members one after another are one stream. A byte order mark of UTF-8 at the beginning is passed
 * over, and counts in offsets. Memory is bounded: a window of a few hundred KiB.
 */
struct input;

/* What no trace grows by when it is unpacked: the bound where nobody says another. */
#define INPUT_RATIO_MOST 500

struct input_limits {
    uint64_t unpacked_bytes; /* at most so many bytes come out of a packed file; 0: no bound */
    uint64_t unpack_ratio;   /* ... and at most so many per byte read (checked past 16 MiB); 0: no bound */
    int (*stopped)(void *context); /* asked before each read, and while a pipe gives nothing; may be NULL */
    void *context;
};

/*
 * `path` "-" is standard input. Refuses what is neither a regular file, a pipe given by name on purpose, nor
 * standard input ("is a directory", "is a device").
 */
struct input *input_open(const char *path, const struct input_limits *limits, struct error *error);
/*
 * Bytes `begin` to `end` of a regular file that is not packed, as if the rest were not there; offsets count
 * from the file's beginning all the same. There is no digest of it.
 */
struct input *input_open_part(const char *path, const struct input_limits *limits, uint64_t begin,
                              uint64_t end, struct error *error);
void input_close(struct input *input);

/* When the file was last written, since the epoch; INT64_MIN: it is no regular file. */
int64_t input_modified_ns(const struct input *input);

const char *input_path(const struct input *input);

/* A look at the next bytes without taking them: at most `length`, fewer only at the end. -1 on a read error.
 */
int64_t input_peek(struct input *input, const char **bytes, size_t length, struct error *error);

/*
 * The next line, without its end ("\n" or "\r\n"), borrowed until the next call. Returns 1, 0 at the end, -1
 * on a read error (damaged gzip included: everything readable before it has come out by then). A line longer
 * than INPUT_LINE_BYTES comes in pieces of at most that size: all but the last have `goes_on` set, all but
 * the first `continued`, so that a whole trace on one line can be read as well and nothing is lost.
 */
enum { INPUT_LINE_BYTES = 1 << 20 };

struct input_line {
    const char *text; /* followed by a NUL that is not part of it; may hold NULs inside */
    size_t length;
    uint64_t offset; /* of its first byte, in the unpacked stream */
    int goes_on;     /* the next call gives more of the same line */
    int continued;   /* it is such a piece */
    int ended;       /* it had its newline; false for the last line of a cut file, and where it goes on */
};

int input_line(struct input *input, struct input_line *line, struct error *error);

/*
 * What of the next lines is in memory already: `*length` bytes, borrowed until the next call of any other
 * function, and the offset of the first. 0 bytes where the next is not the beginning of a line. For who can
 * tell by himself where lines end: he says by input_skip() how many bytes he took, which is a number of whole
 * lines, newlines included. input_line() goes on behind them.
 */
const char *input_ahead(const struct input *input, size_t *length, uint64_t *offset);
void input_skip(struct input *input, size_t length);

/* Bytes taken from the file so far (packed), and handed out (unpacked). */
uint64_t input_bytes_read(const struct input *input);
uint64_t input_bytes_unpacked(const struct input *input);

/* The file's size as the system tells it; 0 when it has none (a pipe). */
uint64_t input_size(const struct input *input);

/*
 * Digest of the raw bytes of the whole file: call after the last line. Of a file that was not read to its end
 * (a failure, a limit) one that no whole file has.
 */
void input_digest(const struct input *input, char text[33]);

/*
 * Digest of the unpacked bytes, that of the raw ones where the file is not packed: call after the last line.
 * -1 when they did not all come out.
 */
int input_unpacked_digest(const struct input *input, char text[33]);

#endif

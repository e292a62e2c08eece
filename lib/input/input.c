/*
 * Reads an input line by line through a window, which starts at 256 KiB and grows once if a line is long.
 * source.c supplies the unpacked bytes.
 */
#include "input/input.h"
#include "base/base.h"
#include "input/internal.h"

#include <stdlib.h>
#include <string.h>

enum { WINDOW_BYTES = 256 * 1024, LONG_WINDOW_BYTES = INPUT_LINE_BYTES + WINDOW_BYTES };

/*
 * Extra bytes beyond the capacity: for the NUL after the last line, and for the one that take_piece()
 * inserts.
 */
enum { SPARE_BYTES = 2 };

/* The window holds bytes [at, end) of the stream, which begin at `offset`. */
struct input {
    char *path;
    struct source *source;
    char *window;
    size_t capacity; /* the allocation is SPARE_BYTES larger */
    size_t at;
    size_t end;
    size_t searched; /* [at, searched) contains no newline */
    uint64_t offset;
    int at_end;
    int has_begun;          /* reading began, so a byte order mark was already skipped */
    struct digest unpacked; /* only if the file is compressed */
    int goes_on;            /* the last returned piece did not end its line */
    int failed;             /* reading failed; the bytes before are still returned */
    struct error failure;
};

/* Creates everything but the source. */
static struct input *make_input(const char *path, struct error *error)
{
    struct input *input = calloc(1, sizeof *input);
    if (!input) {
        error_no_memory(error);
        return NULL;
    }
    input->capacity = WINDOW_BYTES;
    digest_init(&input->unpacked);
    input->path = strdup(path);
    input->window = malloc(WINDOW_BYTES + SPARE_BYTES);
    if (input->path && input->window)
        return input;
    error_no_memory(error);
    input_close(input);
    return NULL;
}

struct input *input_open(const char *path, const struct input_limits *limits, struct error *error)
{
    struct input *input = make_input(path, error);
    if (!input || (input->source = source_open(path, limits, error)))
        return input;
    input_close(input);
    return NULL;
}

struct input *input_open_part(const char *path, const struct input_limits *limits, uint64_t begin,
                              uint64_t end, struct error *error)
{
    struct input *input = make_input(path, error);
    if (!input)
        return NULL;
    input->offset = begin;
    input->has_begun = begin > 0;
    input->source = source_open_part(path, limits, begin, end, error);
    if (input->source)
        return input;
    input_close(input);
    return NULL;
}

void input_close(struct input *input)
{
    if (!input)
        return;
    source_close(input->source);
    free(input->window);
    free(input->path);
    free(input);
}

const char *input_path(const struct input *input)
{
    return input->path;
}

/* Makes room after `end`: moves the bytes to the front of the window, or enlarges it once for a long line. */
static int make_room(struct input *input, struct error *error)
{
    if (input->at > 0) {
        memmove(input->window, input->window + input->at, input->end - input->at);
        input->end -= input->at;
        input->searched -= input->at;
        input->at = 0;
    }
    if (input->end < input->capacity)
        return 0;
    char *window = realloc(input->window, LONG_WINDOW_BYTES + SPARE_BYTES);
    if (!window)
        return error_no_memory(error);
    input->window = window;
    input->capacity = LONG_WINDOW_BYTES;
    return 0;
}

/* Reads more bytes into the window. Sets at_end at the end of the input and when reading fails. */
static void fill(struct input *input)
{
    int64_t got = -1;
    int crowded = input->capacity - input->end < WINDOW_BYTES / 2 && input->at > 0;
    int room = input->end < input->capacity && !crowded;
    if (room || !make_room(input, &input->failure))
        got = source_read(input->source, input->window + input->end, input->capacity - input->end,
                          &input->failure);
    if (got < 0)
        input->failed = 1;
    if (got <= 0) {
        input->at_end = 1;
        return;
    }
    if (source_is_packed(input->source))
        digest_update(&input->unpacked, input->window + input->end, (size_t)got);
    input->end += (size_t)got;
}

/*
 * Called at the end of what could be read: returns 0, or -1 with the reason if that is not the whole input.
 */
static int finish(const struct input *input, struct error *error)
{
    if (!input->failed)
        return 0;
    if (error)
        *error = input->failure;
    return -1;
}

/* Skips a byte order mark (U+FEFF in UTF-8), which some editors write at the beginning of a text. */
static void begin(struct input *input)
{
    static const char mark[] = {'\xef', '\xbb', '\xbf'};
    while (input->end < sizeof mark && !input->at_end)
        fill(input);
    input->has_begun = 1;
    if (input->end >= sizeof mark && memcmp(input->window, mark, sizeof mark) == 0)
        input_skip(input, sizeof mark);
}

int64_t input_peek(struct input *input, const char **bytes, size_t length, struct error *error)
{
    if (length > INPUT_LINE_BYTES)
        length = INPUT_LINE_BYTES;
    if (!input->has_begun)
        begin(input);
    while (input->end - input->at < length && !input->at_end)
        fill(input);
    if (input->end - input->at < length)
        length = input->end - input->at;
    *bytes = input->window + input->at;
    return length == 0 ? finish(input, error) : (int64_t)length;
}

/* Returns `length` bytes from `at`, and moves past them and `skip` more. */
static int take(struct input *input, struct input_line *line, size_t length, size_t skip)
{
    line->text = input->window + input->at;
    line->length = length;
    line->offset = input->offset;
    line->continued = input->goes_on;
    line->ended = skip > 0;
    line->goes_on = 0;
    input->goes_on = 0;
    input->at += length + skip;
    input->offset += length + skip;
    input->searched = input->at;
    return 1;
}

static int take_to_newline(struct input *input, struct input_line *line, size_t length)
{
    char *text = input->window + input->at;
    size_t skip = 1;
    if (length > 0 && text[length - 1] == '\r') {
        length--;
        skip++;
    }
    text[length] = '\0';
    return take(input, line, length, skip);
}

/*
 * The byte after a piece is the first of the next piece. To make room for the NUL, the rest is moved by one.
 */
static int take_piece(struct input *input, struct input_line *line)
{
    char *rest = input->window + input->at + INPUT_LINE_BYTES;
    memmove(rest + 1, rest, input->end - input->at - INPUT_LINE_BYTES);
    *rest = '\0';
    input->end++;
    take(input, line, INPUT_LINE_BYTES, 0);
    input->at++;
    input->searched = input->at;
    line->goes_on = 1;
    input->goes_on = 1;
    return 1;
}

int input_line(struct input *input, struct input_line *line, struct error *error)
{
    if (!input->has_begun)
        begin(input);
    for (;;) {
        size_t held = input->end - input->at;
        size_t limit = held < INPUT_LINE_BYTES ? held : INPUT_LINE_BYTES;
        char *from = input->window + input->searched;
        char *newline = memchr(from, '\n', input->at + limit - input->searched);
        if (newline)
            return take_to_newline(input, line, (size_t)(newline - (input->window + input->at)));
        input->searched = input->at + limit;
        /* One byte beyond a full piece is needed, since it may be the newline. */
        if (held > INPUT_LINE_BYTES)
            break;
        if (input->at_end) {
            input->window[input->end] = '\0';
            return held ? take(input, line, held, 0) : finish(input, error);
        }
        fill(input);
    }
    if (input->window[input->at + INPUT_LINE_BYTES] == '\n')
        return take_to_newline(input, line, INPUT_LINE_BYTES);
    return take_piece(input, line);
}

const char *input_ahead(const struct input *input, size_t *length, uint64_t *offset)
{
    *length = input->goes_on ? 0 : input->end - input->at;
    *offset = input->offset;
    return input->window + input->at;
}

void input_skip(struct input *input, size_t length)
{
    input->at += length;
    input->offset += length;
    if (input->searched < input->at)
        input->searched = input->at;
}

uint64_t input_bytes_read(const struct input *input)
{
    return source_bytes_read(input->source);
}

uint64_t input_bytes_unpacked(const struct input *input)
{
    return source_bytes_unpacked(input->source);
}

uint64_t input_size(const struct input *input)
{
    return source_size(input->source);
}

int64_t input_modified_ns(const struct input *input)
{
    return source_modified_ns(input->source);
}

void input_digest(const struct input *input, char text[33])
{
    source_digest(input->source, text);
}

int input_unpacked_digest(const struct input *input, char text[33])
{
    if (input->failed || !input->at_end)
        return -1;
    if (source_is_packed(input->source))
        digest_hex(&input->unpacked, text);
    else
        source_digest(input->source, text);
    return 0;
}

/* The number of bytes to read at a time. */
enum { PIECE_BYTES = 1 << 18 };

int input_whole(struct input *input, size_t bytes_most, struct buffer *bytes, struct error *error)
{
    const char *piece;
    int64_t length;
    uint64_t size = input_size(input);
    /* The size of an uncompressed file is known in advance. */
    if (size <= bytes_most && buffer_reserve(bytes, (size_t)size))
        return error_no_memory(error);
    while ((length = input_peek(input, &piece, PIECE_BYTES, error)) > 0) {
        if ((size_t)length > bytes_most - bytes->length)
            return error_set(error, "is longer than %zu MiB", bytes_most >> 20);
        if (buffer_append(bytes, piece, (size_t)length))
            return error_no_memory(error);
        input_skip(input, (size_t)length);
    }
    return length < 0 ? -1 : 0;
}

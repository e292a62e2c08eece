#include "input/whole.h"

/* So much is taken at a time. */
enum { PIECE_BYTES = 1 << 18 };

int input_whole(struct input *input, size_t bytes_most, struct buffer *bytes, struct error *error)
{
    const char *piece;
    int64_t length;
    uint64_t size = input_size(input);
    /* A file that is not packed says how much comes. */
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

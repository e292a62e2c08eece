#ifndef NCCLPROF_BASE_BUFFER_H
#define NCCLPROF_BASE_BUFFER_H

#include <stddef.h>

/*
 * A growing run of bytes, always followed by a NUL that `length` does not count, so that `data` serves as
 * a C string. Functions return -1 when memory is out and leave the content as it was.
 */
struct buffer {
    char *data; /* owned; never NULL after the first success */
    size_t length;
    size_t capacity;
};

#define BUFFER_INIT                              \
    {                                            \
        .data = NULL, .length = 0, .capacity = 0 \
    }

void buffer_release(struct buffer *buffer);

/* Empties it; the memory is kept for the next use. */
void buffer_clear(struct buffer *buffer);

/* Room for `more` bytes beyond the length. */
int buffer_reserve(struct buffer *buffer, size_t more);
int buffer_append(struct buffer *buffer, const void *bytes, size_t length);
int buffer_append_text(struct buffer *buffer, const char *text);
int buffer_append_byte(struct buffer *buffer, char byte);
int buffer_printf(struct buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Hands the bytes to the caller, who frees them; the buffer is empty again. NULL when it never held any. */
char *buffer_detach(struct buffer *buffer);

#endif

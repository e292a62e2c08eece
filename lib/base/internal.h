#ifndef NCCLPROF_BASE_INTERNAL_H
#define NCCLPROF_BASE_INTERNAL_H

#include <stddef.h>

struct buffer;

/* Escapes text for a JSON string (RFC 8259), without the quotes. Invalid UTF-8 becomes U+FFFD. Returns -1
 * when out of memory. */
int escape_json(struct buffer *buffer, const char *text, size_t length);

#endif

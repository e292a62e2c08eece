#ifndef NCCLPROF_BASE_INTERNAL_H
#define NCCLPROF_BASE_INTERNAL_H

#include <stddef.h>

struct buffer;

int escape_json(struct buffer *buffer, const char *text, size_t length);

#endif

#ifndef NCCLPROF_BASE_BASE64_H
#define NCCLPROF_BASE_BASE64_H

#include "base/buffer.h"

/* Bytes as base64 (RFC 4648, section 4), padded. -1 when memory is out. */
int base64_append(struct buffer *text, const void *bytes, size_t length);

#endif

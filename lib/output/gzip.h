#ifndef NCCLPROF_OUTPUT_GZIP_H
#define NCCLPROF_OUTPUT_GZIP_H

#include "base/buffer.h"
#include "base/error.h"

#include <stddef.h>

/* Runs of bytes, each compressed by itself, as formats have them that compress their parts. */
struct gzip;

/* Freed with gzip_free, which allows NULL. NULL on error. */
struct gzip *gzip_new(struct error *error);
void gzip_free(struct gzip *gzip);

/*
 * Appends one whole gzip file (RFC 1952) of `length` bytes, at most INT_MAX, to `packed`, which is as it was
 * on error.
 */
int gzip_pack(struct gzip *gzip, const void *bytes, size_t length, struct buffer *packed,
              struct error *error);

#endif

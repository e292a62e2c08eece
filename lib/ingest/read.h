#ifndef NCCLPROF_INGEST_READ_H
#define NCCLPROF_INGEST_READ_H

#include "format/format.h"
#include "input/input.h"

/*
 * Gives a format what it needs: the input, or the tables of the file at `path`, of which the input is then
 * read to its end for the digest. `stopped` is asked now and then; may be NULL. As format->read() otherwise.
 */
int ingest_read(const struct format *format, struct input *input, const char *path,
                int (*stopped)(void *context), void *context, const struct format_sink *sink, char *dialect,
                size_t dialect_bytes, struct error *error);

#endif

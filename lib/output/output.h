#ifndef NCCLPROF_OUTPUT_OUTPUT_H
#define NCCLPROF_OUTPUT_OUTPUT_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/*
 * A file written for the user, whole or not at all: it takes its name in output_close, and what stood there
 * before stays until then. Where the file system knows files without a name, nothing is left behind by a
 * process that is killed; elsewhere a file `.NAME.PID` beside it.
 */
struct output;

enum output_kind {
    OUTPUT_PLAIN,
    OUTPUT_GZIP,
    OUTPUT_BY_DESCRIPTOR /* written at any place in it, by output_descriptor; it can be nothing but a file */
};

/*
 * "-" is standard output; it, a pipe and a device are written as they are. A symbolic link stays, the file
 * that it names is replaced and keeps its mode. Returns NULL with an error that names the file; the caller
 * ends it with output_close or output_discard.
 */
struct output *output_open(const char *path, enum output_kind kind, struct error *error);

/* Open for reading and writing, of OUTPUT_BY_DESCRIPTOR; it stays the output's. */
int output_descriptor(const struct output *output);

/* Errors come here or later, for bytes are kept until there are many. */
int output_write(struct output *output, const void *bytes, size_t length, struct error *error);
int output_text(struct output *output, const char *text, struct error *error);
int output_printf(struct output *output, struct error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Hands over what was kept, so that little can fail in output_close: for several files that are to take their
 * names together. OUTPUT_GZIP is not whole before output_close.
 */
int output_flush(struct output *output, struct error *error);

/* Bytes given to output_write so far: before compression. */
uint64_t output_bytes(const struct output *output);

/* Everything is written and the file has its name, or it is as it was before; releases it either way. */
int output_close(struct output *output, struct error *error);

/* The file is as it was before. NULL is allowed. */
void output_discard(struct output *output);

#endif

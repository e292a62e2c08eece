#ifndef NCCLPROF_INPUT_INTERNAL_H
#define NCCLPROF_INPUT_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct input_limits;
struct source;

/* Opens `path`, "-" for standard input. input_open documents what is refused. */
struct source *source_open(const char *path, const struct input_limits *limits, struct error *error);
/* Opens only bytes `begin` to `end` of a regular file, without unpacking. There is no digest of them. */
struct source *source_open_part(const char *path, const struct input_limits *limits, uint64_t begin,
                                uint64_t end, struct error *error);
void source_close(struct source *source);

/*
 * Reads the next unpacked bytes: at most `length`, and at least one except at the end (0). Returns -1 with an
 * error when reading failed, the compressed data is damaged or a limit is exceeded; everything that could be
 * unpacked before that was returned by earlier calls.
 */
int64_t source_read(struct source *source, char *bytes, size_t length, struct error *error);

/* Known after the first read. */
int source_is_packed(const struct source *source);
uint64_t source_bytes_read(const struct source *source);
uint64_t source_bytes_unpacked(const struct source *source);
uint64_t source_size(const struct source *source);
int64_t source_modified_ns(const struct source *source);
void source_digest(const struct source *source, char text[33]);

#endif

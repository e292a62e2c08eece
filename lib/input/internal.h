#ifndef NCCLPROF_INPUT_INTERNAL_H
#define NCCLPROF_INPUT_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct input_limits;
struct source;

/* Opens `path`, "-" for standard input; see input_open for what is refused. */
struct source *source_open(const char *path, const struct input_limits *limits, struct error *error);
/* Only bytes `begin` to `end` of a regular file, as they are. They get no digest. */
struct source *source_open_part(const char *path, const struct input_limits *limits, uint64_t begin,
                                uint64_t end, struct error *error);
void source_close(struct source *source);

/*
 * The next unpacked bytes, at most `length` and at least one unless the end is reached (0). -1 with an error
 * when reading failed, when the packed data is damaged or when a limit is passed; what could be unpacked up
 * to there has been handed out before.
 */
int64_t source_read(struct source *source, char *bytes, size_t length, struct error *error);

/* Told by the first read. */
int source_is_packed(const struct source *source);
uint64_t source_bytes_read(const struct source *source);
uint64_t source_bytes_unpacked(const struct source *source);
uint64_t source_size(const struct source *source);
int64_t source_modified_ns(const struct source *source);
void source_digest(const struct source *source, char text[33]);

#endif

#ifndef NCCLPROF_STORE_KNOWN_H
#define NCCLPROF_STORE_KNOWN_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct store;

/*
 * The files that the store held when this was read: a snapshot that any thread may look into. A file whose
 * size is not among them is new, without a digest being taken.
 */
struct known_file {
    uint64_t bytes;
    char digest[33];
    char dialect[64];
    int64_t events;
    int64_t skipped;
    int64_t lost_pieces;   /* of it could not be read */
    uint64_t first_offset; /* of these */
    int64_t reader_version;
    char *reader;       /* owned: the format whose reader read it; NULL: not known */
    char *path;         /* owned */
    char *first_reason; /* owned; NULL when there are none */
};

struct known {
    struct known_file *files; /* owned; ordered by size */
    size_t count;
    size_t capacity;
};

int known_read(struct known *known, struct store *store, struct error *error);
void known_release(struct known *known);

int known_has_size(const struct known *known, uint64_t bytes);

int known_has_path(const struct known *known, const char *path);

/* NULL when there is none of that content. */
const struct known_file *known_find(const struct known *known, uint64_t bytes, const char *digest);

#endif

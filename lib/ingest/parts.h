#ifndef NCCLPROF_INGEST_PARTS_H
#define NCCLPROF_INGEST_PARTS_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct format;
struct ingest;
struct known_file;
struct walk;

/*
 * What workers take one by one: files, and parts of great files where their format can be cut. Where a file
 * is cut depends on nothing but its content, so that its records get the same numbers whoever reads them.
 */
struct part {
    size_t file;  /* in the walk */
    size_t first; /* the first part of the file, and how many there are */
    size_t count;
    uint64_t begin; /* bytes of the file; a file of one part is read to its end, wherever that is */
    uint64_t end;
    const struct format *format; /* of a file of several parts */
    /* Of a file of several parts, when it was looked at: it may grow on. */
    uint64_t size;
    struct timespec modified;
    const struct known_file *known; /* the store has this content; NULL: not as far as is known yet */
};

struct parts {
    struct part *items; /* owned */
    size_t count;
    size_t capacity;
};

/* Cuts up what a walk found. Release it whatever comes back. */
int parts_plan(struct parts *parts, const struct walk *walk, const struct ingest *ingest,
               struct error *error);
void parts_release(struct parts *parts);

#endif

#ifndef NCCLPROF_WATCH_GROWTH_H
#define NCCLPROF_WATCH_GROWTH_H

#include "base/error.h"

#include <stddef.h>

struct walk;

/* Which files changed since they were last looked at, by what the file system says: none is read. */
struct growth {
    struct grown_file *files; /* owned; of the last look, by path */
    size_t count;
};

void growth_init(struct growth *growth);
void growth_release(struct growth *growth);

/*
 * Looks at the files of `walk`, and takes those out of it that are as they were. Where there is a new one, or
 * one is gone, all stay: what a file is worth depends on those beside it (copies, twins). -1 when memory is
 * out.
 */
int growth_look(struct growth *growth, struct walk *walk, struct error *error);

/* How long to wait before the next look, where the last one took `used_s` of a processor: `interval_s`, or as
 * much as keeps the share of a processor small. */
double growth_wait_s(double interval_s, double used_s);

#endif

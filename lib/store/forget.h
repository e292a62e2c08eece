#ifndef NCCLPROF_STORE_FORGET_H
#define NCCLPROF_STORE_FORGET_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct store;

/* A file that went. */
struct forgotten_file {
    int64_t id; /* it had */
    char *path; /* owned */
    char dialect[64];
    int64_t events;
    int64_t skipped;
    int64_t bytes;
};

struct forgotten {
    struct forgotten_file *files; /* owned; run by run, by path */
    size_t count;
    size_t capacity;
};

void forgotten_release(struct forgotten *forgotten);

/*
 * Removes runs: the files that speak of them, those that name no process and lie nearest to their files, and
 * all that came from these. Wants joined tables, and happens
 * in the caller's transaction; the tables have to be joined anew afterwards. Refuses, with nothing removed,
 * where a file speaks of a run, too, that is not among `runs`. `forgotten` is initialised by the caller.
 */
int forget_runs(struct store *store, const int64_t *runs, size_t count, struct forgotten *forgotten,
                struct error *error);

#endif

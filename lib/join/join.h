#ifndef NCCLPROF_JOIN_JOIN_H
#define NCCLPROF_JOIN_JOIN_H

#include <stddef.h>

struct error;
struct forgotten;
struct store;

/*
 * Makes the derived tables of the store (schemas/store, second part) match its files: which
 * process is which rank of which job, which operations of different ranks are one instance, which tag and
 * step an operation belongs to. One transaction; nothing to do when they are current. Definitions:
 * semantics of joining in ncclprof-store(5). So many threads work at it, 1 at least.
 */
int join_store(struct store *store, size_t threads, struct error *error);

/* Whether they match the files, and are as this ncclprof makes them; -1 on error. */
int join_is_current(struct store *store, struct error *error);

/*
 * Removes the runs of a list of names or numbers, with commas between, from the store, and joins what is left
 * with `threads` threads: one transaction, so that either all of it has happened or nothing. `forgotten`
 * (initialised by the caller) takes the files that went.
 */
int join_forget(struct store *store, const char *list, size_t threads, struct forgotten *forgotten,
                struct error *error);

#endif

#ifndef NCCLPROF_JOIN_JOIN_H
#define NCCLPROF_JOIN_JOIN_H

#include <stddef.h>

struct error;
struct forgotten;
struct store;

/*
 * Brings the derived tables of the store (schemas/store, second part) up to date with its files: which
 * process is which rank of which job, which operations of different ranks are one collective, which tag and
 * step an operation belongs to. Does nothing when they are current. Uses up to `threads` threads (at least 1)
 * and one transaction: on error (-1) the store is unchanged. ncclprof-store(5) defines the rules of joining.
 */
int join_store(struct store *store, size_t threads, struct error *error);

/*
 * 1 if the derived tables match the files and were made by the rules of this version of ncclprof, 0 if not;
 * -1 on error.
 */
int join_is_current(struct store *store, struct error *error);

/*
 * Removes runs from the store, then joins the rest with `threads` threads. `list` has the names or numbers of
 * the runs, separated by commas. One transaction: on error (-1) nothing is removed. The caller initialises
 * `forgotten`, which receives the files that were removed.
 */
int join_forget(struct store *store, const char *list, size_t threads, struct forgotten *forgotten,
                struct error *error);

#endif

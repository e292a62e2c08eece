#ifndef NCCLPROF_JOIN_FORGET_H
#define NCCLPROF_JOIN_FORGET_H

#include "base/error.h"

#include <stddef.h>

struct forgotten;
struct store;

/*
 * Removes the runs of a list of names or numbers, with commas between, from the store, and joins what is left
 * with `threads` threads: one transaction, so that either all of it has happened or nothing. `forgotten`
 * (initialised by the caller) takes the files that went.
 */
int join_forget(struct store *store, const char *list, size_t threads, struct forgotten *forgotten,
                struct error *error);

#endif

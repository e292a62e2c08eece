#ifndef NCCLPROF_STORE_STORE_H
#define NCCLPROF_STORE_STORE_H

#include "base/error.h"
#include "store/connection.h"
#include "store/statement.h"

#include <stddef.h>
#include <stdint.h>

/*
 * The store: one SQLite file, described in ncclprof-store(5). This room is the only door to SQLite; the rest
 * of the library speaks SQL through statements that it prepares here, mostly with texts from schemas/.
 */
struct store;

enum store_mode {
    STORE_CREATE, /* read and write; made when missing, with mode 0600; migrated when of an older schema */
    STORE_WRITE,  /* read and write; must exist */
    STORE_READ    /* must exist, nothing is changed: for query */
};

/*
 * Refuses, each with its reason: a file that is no SQLite database, another program's database, a store of a
 * newer schema than ours. Waits up to a few seconds for another writer, then says who holds it (the path).
 */
struct store *store_open(const char *path, enum store_mode mode, struct error *error);
void store_close(struct store *store);

/*
 * Before the first store is opened, where several threads will read and write several stores: SQLite does not
 * count its memory, for which they would wait for each other. query_open (query.h), which bounds it, wants it
 * counted.
 */
void store_expect_threads(void);

/*
 * How many threads may work on what is read from a store: 0, which is one, unless it is said otherwise. The
 * store itself is for one of them at a time.
 */
void store_set_threads(struct store *store, size_t threads);
size_t store_threads(const struct store *store);

/* The value of fact `name`; `absent` when there is none. */
int store_fact(struct store *store, const char *name, int64_t absent, int64_t *value, struct error *error);
int store_set_fact(struct store *store, const char *name, int64_t value, struct error *error);

#endif

#ifndef NCCLPROF_STORE_REMOVAL_H
#define NCCLPROF_STORE_REMOVAL_H

#include "base/error.h"
#include "store/record_tables.h"
#include "store/statement.h"

#include <stddef.h>
#include <stdint.h>

struct store;

/*
 * Takes files out of the store again. All of it happens in the caller's transaction: note, remove, and once
 * at its end sweep.
 */

struct removal {
    struct statement *note; /* owned, as are those of the tables */
    struct statement *statements[REMOVAL_STATEMENTS];
    size_t count;
};

int removal_init(struct removal *removal, struct store *store, struct error *error);
void removal_release(struct removal *removal);

/* The jobs that a file speaks of are to be joined anew. Before the file is removed. */
int removal_note(struct removal *removal, int64_t file_id, struct error *error);

/* Everything that came from the file, and its own row. */
int removal_file(struct removal *removal, int64_t file_id, struct error *error);

/* Processes, communicators and members that no file speaks of any longer. */
int removal_sweep(struct store *store, struct error *error);

#endif

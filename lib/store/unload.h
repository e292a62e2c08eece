#ifndef NCCLPROF_STORE_UNLOAD_H
#define NCCLPROF_STORE_UNLOAD_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct inserter;
struct insert_target;
struct ledger;
struct store;
struct unloader;

/*
 * The way back of insert.h: the files of a store, and their rows as they came in, for another store. Packed
 * blocks stay packed; what a join made of blocks is passed over in favour of what was recorded. The store is
 * another's, who may be hostile: of what it holds nothing is trusted.
 */

struct stored_file {
    int64_t id;
    char *path; /* owned, as are the other texts */
    char *file_set;
    char *dialect;
    char *digest;
    char *unpacked_digest; /* NULL: not known */
    int64_t bytes;
    int64_t unpacked_bytes;
    int64_t events;
    int64_t skipped;
    int64_t modified_ns; /* since the epoch; 0: not known */
    int is_open;         /* it was being written, or its writer was killed */
};

struct stored_files {
    struct stored_file *items; /* owned, by id */
    size_t count;
    size_t capacity;
};

int stored_files_read(struct stored_files *files, struct store *store, struct error *error);
void stored_files_release(struct stored_files *files);

/* Borrows the store. */
struct unloader *unloader_new(struct store *store, struct error *error);
void unloader_free(struct unloader *unloader);

/* Adds what the ledger says of the file. */
int unloader_ledger(struct unloader *unloader, int64_t file_id, struct ledger *ledger, struct error *error);

/*
 * All rows of file `file_id`, if it still has `digest`, to `target`, which is empty so far. *bytes grows by
 * what they take. 1, with `error` set: the store that is read is at fault, or has changed; -1: the one that
 * is written.
 */
int unloader_copy(struct unloader *unloader, int64_t file_id, const char *digest, struct inserter *inserter,
                  struct insert_target *target, uint64_t *bytes, struct error *error);

#endif

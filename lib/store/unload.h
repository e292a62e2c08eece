#ifndef NCCLPROF_STORE_UNLOAD_H
#define NCCLPROF_STORE_UNLOAD_H

#include "base/error.h"
#include "store/insert.h"
#include "store/ledger.h"

#include <stddef.h>
#include <stdint.h>

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
    char *reader;          /* the format whose reader read it; NULL: not known */
    int64_t reader_version;
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

/*
 * A file of the store on its way to another one, some MB of it at once: read here by one thread, put there by
 * another, or by the same one in turn.
 *
 *     unloader_begin(unloader, &load, file_id, digest, error);     the first of it
 *     unload_put(&load, inserter, &target, error);
 *     while (!load.is_all) unloader_more(unloader, &load, error), unload_put(...);
 *
 * What fails in the first and the third is the fault of the store that is read; it may have changed, too.
 */
struct unload {
    struct ledger ledger; /* what it says of the file */
    int is_all;           /* nothing of it is left to be read */
    uint64_t bytes;       /* of what was put so far, about */
    int64_t file_id;
    const char *digest;  /* borrowed */
    struct names *names; /* owned */
};

/* A load begins as zeros, and serves one file after another. */
void unload_release(struct unload *load);

int unloader_begin(struct unloader *unloader, struct unload *load, int64_t file_id, const char *digest,
                   struct error *error);
int unloader_more(struct unloader *unloader, struct unload *load, struct error *error);

/* Puts what has been read. 1, with `error` set: the rows cannot be as they were read; -1: the store that is
 * written failed. */
int unload_put(struct unload *load, struct inserter *inserter, struct insert_target *target,
               struct error *error);

#endif

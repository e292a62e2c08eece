#ifndef NCCLPROF_STORE_WRITER_H
#define NCCLPROF_STORE_WRITER_H

#include "base/error.h"
#include "store/insert.h"

#include <stdint.h>

struct ledger;
struct store;
struct unload;
struct writer;

/*
 * Writes batches of rows into the store, each file whole or not at all. Several files may be on their way at
 * once; they share a transaction, which can be committed when none is.
 *
 *     writer_begin(writer, &file, order, first_ordinal, path, file_set);
 *     writer_put(writer, &file, batch) ...
 *     writer_finish(writer, &file, &facts, &outcome)      or writer_abandon(writer, &file)
 *     ... more files ...
 *     writer_commit(writer);
 *
 * When a function fails, what was not committed is gone (rolled back) and the writer only good for
 * writer_free: the store itself is at fault.
 */
struct writer *writer_new(struct store *store, struct error *error);
void writer_free(struct writer *writer); /* rolls back what is not committed */

/* A file on its way; writer_finish and writer_abandon release it, too. */
struct writer_file {
    struct insert_target target;
    char *path;
    char *file_set;
};

void writer_file_release(struct writer_file *file);

/*
 * `order` counts the files of this writer, 0, 1, 2 ...: they are numbered by it, in whatever order they
 * arrive. Both texts are copied; pipes, whose path and file set are "-", have a file set that is this
 * writer's. A file may
 * come in parts, side by side, each with a struct writer_file and the order of the file, and with a
 * first_ordinal that keeps its records apart from those of the others: one of them is finished or abandoned
 * for all, the others are released.
 */
int writer_begin(struct writer *writer, struct writer_file *file, int64_t order, int64_t first_ordinal,
                 const char *path, const char *file_set, struct error *error);

int writer_put(struct writer *writer, struct writer_file *file, const struct batch *batch,
               struct error *error);

/*
 * Rows out of another store, in place of a batch. 1, with `error` set: that store is at fault; the file is to
 * be abandoned.
 */
int writer_unload(struct writer *writer, struct writer_file *file, struct unload *load, struct error *error);

struct writer_facts {
    const char *dialect;
    const char *digest;
    const char *unpacked_digest; /* of the bytes that come out of gzip; NULL: not known */
    uint64_t bytes;
    uint64_t unpacked_bytes;
    int64_t events;
    int64_t modified_ns; /* when the file was last written, since the epoch; 0: not known */
    const char *reader;  /* the format whose reader read it; NULL: not known */
    int64_t reader_version;
    const struct ledger *ledger;
    int force;       /* takes the place of a file of the same content, instead of being dropped */
    int is_open;     /* it is being written, or its writer was killed */
    int has_moved;   /* likewise, of one that came in before this writer: its directory holds it no longer */
    int is_snapshot; /* what came before from the same path stays */
    int by_reader; /* takes the place of a file of the same content that an earlier version of its reader read
                    */
};

enum writer_outcome { WRITER_INGESTED, WRITER_OPEN, WRITER_PARTIAL, WRITER_UNCHANGED };

/*
 * The file is complete: it takes the place of what came from the same path before. WRITER_UNCHANGED: the same
 * content, packed or not, is already there, so nothing of it is kept.
 */
int writer_finish(struct writer *writer, struct writer_file *file, const struct writer_facts *facts,
                  enum writer_outcome *outcome, struct error *error);

/* Nothing of the file is kept. */
int writer_abandon(struct writer *writer, struct writer_file *file, struct error *error);

/* Whether the transaction has grown, or lasted, long enough to be committed soon. */
int writer_is_due(const struct writer *writer);

/* Only while no file is on its way. Leaves other processes a moment to get in. */
int writer_commit(struct writer *writer, struct error *error);

#endif

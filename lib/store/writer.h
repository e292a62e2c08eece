#ifndef NCCLPROF_STORE_WRITER_H
#define NCCLPROF_STORE_WRITER_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct event;
struct ledger;
struct store;
struct writer;

/*
 * Writes the events of files into the store, each file whole or not at all. Small files share a transaction:
 * a file is safe once writer_commit, which finishing a file may call, has returned.
 *
 *     writer_begin(writer, path, file_set); writer_event(writer, &event) ... as the reader hands them over
 *     writer_finish(writer, &facts, &result);     or writer_abandon(writer)
 *     ... next file ...
 *     writer_commit(writer);
 *
 * When a function fails, what was not committed is gone (rolled back) and the writer only good for
 * writer_free: the store itself is at fault.
 */
struct writer *writer_new(struct store *store, struct error *error);
void writer_free(struct writer *writer); /* rolls back what is not committed */

/* What the store already holds of a content. */
struct writer_known {
    char dialect[64];
    int64_t events;
    int64_t skipped;
    int64_t unpacked_bytes;
};

/* 1: a file of that content is in the store, 0: it is not, -1: error. */
int writer_find(struct writer *writer, const char *digest, struct writer_known *known, struct error *error);

/* Whether some file of that many bytes is in the store: if not, no digest need be taken to know it is new. */
int writer_find_size(struct writer *writer, uint64_t bytes, struct error *error);

/* Both texts are copied. */
int writer_begin(struct writer *writer, const char *path, const char *file_set, struct error *error);

/* Takes an event of the file, or something in it that becomes none: callbacks of a format_sink. */
int writer_event(void *writer, const struct event *event, struct error *error);
int writer_note(void *writer, const char *reason, int damage, uint64_t offset, const char *detail,
                size_t detail_length, struct error *error);

/* Whether something here failed, so that a reader's failure is the store's and not the file's. */
int writer_failed(const struct writer *writer);

/* What could not be read, and why; borrowed until the next writer_begin. */
const struct ledger *writer_ledger(const struct writer *writer);

/* Records understood so far in this file. */
int64_t writer_events(const struct writer *writer);

struct writer_facts {
    const char *dialect;
    const char *digest;
    uint64_t bytes;
    uint64_t unpacked_bytes;
    int force; /* takes the place of a file of the same content, instead of being dropped */
};

enum writer_outcome { WRITER_INGESTED, WRITER_PARTIAL, WRITER_UNCHANGED };

/*
 * The file is complete: it takes the place of what came from the same path before. WRITER_UNCHANGED: the same
 * content is already there, so nothing of it is kept.
 */
int writer_finish(struct writer *writer, const struct writer_facts *facts, enum writer_outcome *outcome,
                  struct error *error);

/* Nothing of the file is kept. */
int writer_abandon(struct writer *writer, struct error *error);

int writer_commit(struct writer *writer, struct error *error);

/* Whether all finished files are committed. */
int writer_is_settled(const struct writer *writer);

#endif

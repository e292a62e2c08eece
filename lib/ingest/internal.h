#ifndef NCCLPROF_INGEST_INTERNAL_H
#define NCCLPROF_INGEST_INTERNAL_H

#include "base/base.h"
#include "ingest/ingest.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct format;
struct format_sink;
struct input;
struct stat;
struct store;
struct timespec;

/* -------------------- file.c -------------------- */

/*
 * The unit of work: a file, or a part of a large file if its format can be split. Where a file is split
 * depends only on its content, so its records get the same numbers whichever thread reads them.
 */
struct part {
    size_t file;  /* index in the walk */
    size_t first; /* first part of the file, and the number of its parts */
    size_t count;
    uint64_t begin; /* byte range in the file; a file of one part is read to its end */
    uint64_t end;
    const struct format *format; /* if the file has several parts */
    /* Of a file with several parts, when it was split: it may have grown since. */
    uint64_t size;
    struct timespec modified;
    uint64_t tail;             /* begin of the last part */
    struct followed *followed; /* borrowed; NULL: the file is not followed, or it has no cut */
    int64_t
        file_id; /* of the file in the store that this is a continuation of; 0: it is read from its start */
    const struct known_file *known; /* file of this content in the store; NULL: none, or unknown so far */
};

struct parts {
    struct part *items; /* owned */
    size_t count;
    size_t capacity;
};

/* Splits the files of a walk into parts. Call parts_release whatever it returns. */
int parts_plan(struct parts *parts, const struct walk *walk, const struct ingest *ingest,
               struct error *error);
void parts_release(struct parts *parts);

/* -------------------- follow.c -------------------- */

/* What is known of a followed file since it was last read. */
struct followed {
    uint64_t kept; /* what precedes this cut is final; 0: the file is read from its start next time */
    struct digest kept_digest; /* of these bytes */
    int64_t kept_events;
    struct ledger *kept_ledger; /* owned; NULL: empty */
    char dialect[64];
    uint64_t bytes; /* size of the file when it was read */
    struct timespec modified;
    char digest[33]; /* of these bytes, as the store has it */
    char edges[33];  /* digest of the first and last of them */
    dev_t device;
    ino_t inode;
    int is_torn; /* the file became shorter while it was read */
};

/* Adds up to `most` bytes to the digest. Returns the number of bytes; -1 if reading failed or was stopped. */
int64_t ingest_digest(int file, uint64_t most, struct digest *digest, int (*stop)(void *context),
                      void *context);

/* The entry of this path, which may be new. NULL: out of memory. */
struct followed *follower_file(struct follower *follower, const char *path);

/*
 * The row of the store that a file continues: the file has only grown since it was read, and the store
 * contains it as it was then. NULL: read it from its start.
 */
const struct known_file *followed_known(const struct followed *followed, const struct known *known,
                                        const char *path, const struct stat *status);

/* The file is read from its start next time. */
void followed_forget(struct followed *followed);

/*
 * The digest of the first part->size bytes of the file; only what follows part->begin is read. `part` is the
 * first one to be read. 1: the file is shorter; -1: it cannot be read.
 */
int followed_digest(struct followed *followed, const struct part *part, const char *path,
                    int (*stop)(void *context), void *context, char text[33]);

/* Adds a part before the last cut to what is kept. */
int followed_keep(struct followed *followed, const struct file_result *result, const struct ledger *ledger,
                  struct error *error);

/* Makes the result and the ledger of the last part those of the whole file. */
int followed_add(const struct followed *followed, struct file_result *last, struct ledger *ledger,
                 struct error *error);

/* The file was read up to the end of the last part. `is_stored`: its rows are in the store. */
void followed_conclude(struct followed *followed, const struct part *part, const char *digest, int is_stored);

/* -------------------- read_files.c -------------------- */

/*
 * The pipeline between the threads that parse files and the one that writes the store: a bounded queue of
 * messages, a fixed number of batches that are reused, and the order in which parts are taken. A thread that
 * parses waits until a batch is empty, which limits memory. This code reads neither files nor the store.
 */

enum message_kind {
    MESSAGE_NONE,    /* no message within the timeout */
    MESSAGE_ROWS,    /* a batch of rows of the part */
    MESSAGE_FINISH,  /* all rows of the part were sent */
    MESSAGE_ABANDON, /* discard all rows of the file */
    MESSAGE_PASSED,  /* the part has no rows to write */
    MESSAGE_END      /* every part was taken and completed */
};

struct message {
    enum message_kind kind;
    size_t part;
    struct batch *batch; /* with MESSAGE_ROWS; give it back with pipeline_return */
};

enum { PIPELINE_MESSAGES = 64 };

struct pipeline {
    pthread_mutex_t mutex;
    pthread_cond_t has_message;
    pthread_cond_t has_room; /* a slot for a message, an empty batch, or an open gate */
    struct message messages[PIPELINE_MESSAGES];
    size_t first;
    size_t message_count;
    struct batch *batches; /* owned */
    struct batch **empty;  /* batches not in use */
    size_t empty_count;
    size_t batch_count;
    const struct parts *parts; /* borrowed */
    size_t taken;              /* number of parts taken by workers */
    size_t in_flight;          /* taken parts not yet finished, abandoned or passed */
    int gate_closed;           /* no new file is started */
    int working;               /* workers that have not left */
    atomic_int stopped;
    atomic_ullong bytes; /* read by all workers, for the progress display */
    struct error error;  /* first failure of a worker that is not the fault of a file */
};

int pipeline_init(struct pipeline *pipeline, const struct parts *parts, int workers, struct error *error);
void pipeline_release(struct pipeline *pipeline);

/* For workers. The number of the next part to read; -1 if none is left. */
long pipeline_take(struct pipeline *pipeline);

/* An empty batch; waits until there is one. */
struct batch *pipeline_batch(struct pipeline *pipeline);
void pipeline_send(struct pipeline *pipeline, enum message_kind kind, size_t part, struct batch *batch);

/* A worker leaves. It must not hold a batch. */
void pipeline_leave(struct pipeline *pipeline);

/* Ends the whole ingest with this error. */
void pipeline_fail(struct pipeline *pipeline, const struct error *error);

/* For the writer. The next message; MESSAGE_NONE if none arrives within `wait_ms`. */
struct message pipeline_receive(struct pipeline *pipeline, int wait_ms);
void pipeline_return(struct pipeline *pipeline, struct batch *batch);

/* Counts a part as completed. */
void pipeline_done(struct pipeline *pipeline);

/*
 * Closes the gate: files that were started are completed, no other is started. Returns the number of parts
 * being read, plus those still to come of started files. When it is 0, all parts below *taken are completed.
 */
size_t pipeline_close_gate(struct pipeline *pipeline, size_t *taken);
void pipeline_open_gate(struct pipeline *pipeline);

/* -------------------- file.c -------------------- */

/* What the thread that reads a file passes to the thread that writes it. */
struct file_facts {
    char digest[33];
    char unpacked_digest[33]; /* "" if not all of it could be decompressed */
    uint64_t unpacked_bytes;
    struct ledger *ledger; /* owned */
    const struct format *format;
    int is_read_again; /* the store has this content, as an earlier version of the reader read it */
    int has_moved;     /* the store has this content from a path whose directory no longer contains it */
    int is_snapshot;   /* keep what the store has of earlier contents of the path */
};

/* Whether the user asked to stop. */
static inline int ingest_interrupted(const struct ingest *ingest)
{
    return ingest->hooks.interrupted(ingest->hooks.context);
}

/*
 * Writes to result->reason one sentence about what of the file could not be read, and whether the file's
 * format is newer than known.
 */
int ingest_describe_damage(const struct ledger *ledger, struct file_result *result, struct error *error);

/*
 * Reads a file or a part of it and sends its rows through the pipeline as part `number`. *batch must be
 * empty; it belongs to the worker and is replaced when full. Problems with the file go to `result`; for a
 * part of a file the caller reports them. The first part computes the digest of the whole file. Returns the
 * last message to send: MESSAGE_FINISH with `facts` filled, MESSAGE_PASSED, or MESSAGE_ABANDON with `error`
 * set if the file is not at fault.
 */
enum message_kind ingest_file(const struct ingest *ingest, struct pipeline *pipeline, size_t number,
                              const struct walk_file *file, const struct part *part, int named,
                              struct batch **batch, struct file_result *result, struct file_facts *facts,
                              struct error *error);

/* -------------------- read_files.c -------------------- */

/*
 * Reads a file with its format: from `input` or, if the format reads a database, from the tables of the file
 * at `path`; then `input` is read to its end for the digest. `stopped` is called periodically and may be
 * NULL. Otherwise like format->read().
 */
int ingest_read(const struct format *format, struct input *input, const char *path,
                int (*stopped)(void *context), void *context, const struct format_sink *sink, char *dialect,
                size_t dialect_bytes, struct error *error);

/* -------------------- duplicates.c -------------------- */

/* Orders paths by the number of their folders, then by their length. */
int compare_depths(const char *path, const char *other);

/* -------------------- merge_plan.c -------------------- */

/* Opens the source for reading. The caller owns the result. NULL with `error` set on failure. */
struct store *merge_source_open(struct merge_source *source, struct error *error);

/*
 * Whether files of this dialect are rewritten repeatedly, and each content is kept beside the earlier ones.
 */
int merge_is_snapshot(const char *dialect);

/* The chain of causes as one text, owned by the caller; NULL if memory is out. */
char *merge_error_text(const struct error *error);

#endif

#ifndef NCCLPROF_INGEST_INTERNAL_H
#define NCCLPROF_INGEST_INTERNAL_H

#include "ingest/ingest.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct format;
struct format_sink;
struct input;
struct store;
struct timespec;

/* -------------------- file.c -------------------- */

/*
 * What workers take one by one: files, and parts of great files where their format can be cut. Where a file
 * is cut depends on nothing but its content, so that its records get the same numbers whoever reads them.
 */
struct part {
    size_t file;  /* in the walk */
    size_t first; /* the first part of the file, and how many there are */
    size_t count;
    uint64_t begin; /* bytes of the file; a file of one part is read to its end, wherever that is */
    uint64_t end;
    const struct format *format; /* of a file of several parts */
    /* Of a file of several parts, when it was looked at: it may grow on. */
    uint64_t size;
    struct timespec modified;
    const struct known_file *known; /* the store has this content; NULL: not as far as is known yet */
};

struct parts {
    struct part *items; /* owned */
    size_t count;
    size_t capacity;
};

/* Cuts up what a walk found. Release it whatever comes back. */
int parts_plan(struct parts *parts, const struct walk *walk, const struct ingest *ingest,
               struct error *error);
void parts_release(struct parts *parts);

/* -------------------- read_files.c -------------------- */

/*
 * Between the threads that parse files and the one that writes the store: a bounded queue of messages, a
 * fixed number of batches that go round, and the order in which files, or parts of them, are taken.
 * Back-pressure is the batches: a thread that parses waits for an empty one. Nothing here looks into files or
 * the store.
 */

enum message_kind {
    MESSAGE_NONE,    /* nothing came within the time given */
    MESSAGE_ROWS,    /* a batch of the part */
    MESSAGE_FINISH,  /* all rows of the part have come */
    MESSAGE_ABANDON, /* none of the file's rows may stay */
    MESSAGE_PASSED,  /* the part has no rows to write */
    MESSAGE_END      /* every part has been taken and told of */
};

struct message {
    enum message_kind kind;
    size_t part;
    struct batch *batch; /* MESSAGE_ROWS: goes back by pipeline_return */
};

enum { PIPELINE_MESSAGES = 64 };

struct pipeline {
    pthread_mutex_t mutex;
    pthread_cond_t has_message;
    pthread_cond_t has_room; /* a message less, an empty batch more, or the gate opens */
    struct message messages[PIPELINE_MESSAGES];
    size_t first;
    size_t message_count;
    struct batch *batches; /* owned */
    struct batch **empty;  /* those that nobody holds */
    size_t empty_count;
    size_t batch_count;
    const struct parts *parts; /* borrowed */
    size_t taken;              /* parts that a worker has taken */
    size_t in_flight;          /* of these, not yet finished, abandoned or passed */
    int gate_closed;           /* no further file is begun */
    int working;               /* workers that have not left */
    atomic_int stopped;
    atomic_ullong bytes; /* read by all workers, for the progress bar */
    struct error error;  /* the first failure of a worker that is nobody's file's */
};

int pipeline_init(struct pipeline *pipeline, const struct parts *parts, int workers, struct error *error);
void pipeline_release(struct pipeline *pipeline);

/* For workers. The number of a part to read, -1 when there is none left. */
long pipeline_take(struct pipeline *pipeline);

/* An empty batch; waits for one. */
struct batch *pipeline_batch(struct pipeline *pipeline);
void pipeline_send(struct pipeline *pipeline, enum message_kind kind, size_t part, struct batch *batch);

/* A worker leaves; it holds no batch any more. */
void pipeline_leave(struct pipeline *pipeline);

/* The whole ingest ends early, for this reason. */
void pipeline_fail(struct pipeline *pipeline, const struct error *error);

/* For the writer. The next message; MESSAGE_NONE after `wait_ms` without one. */
struct message pipeline_receive(struct pipeline *pipeline, int wait_ms);
void pipeline_return(struct pipeline *pipeline, struct batch *batch);

/* A part is done with. */
void pipeline_done(struct pipeline *pipeline);

/*
 * Closes the gate, so that the files on their way run out. Returns how many parts are still on their way, or
 * to come of a file that has been begun; when none is, everything below *taken is done with.
 */
size_t pipeline_close_gate(struct pipeline *pipeline, size_t *taken);
void pipeline_open_gate(struct pipeline *pipeline);

/* -------------------- file.c -------------------- */

/* What the thread that read a file hands to the one that writes it. */
struct file_facts {
    char digest[33];
    char unpacked_digest[33]; /* "" when not all of it could be unpacked */
    uint64_t unpacked_bytes;
    struct ledger *ledger; /* owned */
    const struct format *format;
    int is_read_again; /* the store has this content, from an earlier version of the reader */
    int has_moved;     /* the store has this content from another directory, where it is no longer */
    int is_snapshot;   /* what the store has of an earlier content of its path stays */
};

/* Whether the user wants everything to stop. */
static inline int ingest_interrupted(const struct ingest *ingest)
{
    return ingest->hooks.interrupted(ingest->hooks.context);
}

/* Says in one sentence, in result->reason, what of a file could not be read; and whether its format is newer.
 */
int ingest_tell_ledger(const struct ledger *ledger, struct file_result *result, struct error *error);

/*
 * Reads a file, or a part of it, and sends its rows down the pipeline as number `number`; *batch, an empty
 * one, is the worker's and is exchanged as it fills. What is wrong with the file is told in `result`; of a
 * part that is for the caller to tell. The first part gives the whole file's digest. Returns what is to be
 * sent at last: MESSAGE_FINISH (with `facts` filled), MESSAGE_PASSED, or MESSAGE_ABANDON with `error` set
 * when not the file is at fault.
 */
enum message_kind ingest_file(const struct ingest *ingest, struct pipeline *pipeline, size_t number,
                              const struct walk_file *file, const struct part *part, int named,
                              struct batch **batch, struct file_result *result, struct file_facts *facts,
                              struct error *error);

/* -------------------- read_files.c -------------------- */

/*
 * Gives a format what it needs: the input, or the tables of the file at `path`, of which the input is then
 * read to its end for the digest. `stopped` is asked now and then; may be NULL. As format->read() otherwise.
 */
int ingest_read(const struct format *format, struct input *input, const char *path,
                int (*stopped)(void *context), void *context, const struct format_sink *sink, char *dialect,
                size_t dialect_bytes, struct error *error);

/* -------------------- merge_plan.c -------------------- */

/* One of them, open for reading and the caller's; NULL with `error` set. */
struct store *merge_source_open(struct merge_source *source, struct error *error);

/* Whether files of a dialect are written anew again and again, each content beside those before it. */
int merge_is_snapshot(const char *dialect);

/* The chain of causes as one text, owned by the caller; NULL when memory is out. */
char *merge_tell_error(const struct error *error);

#endif

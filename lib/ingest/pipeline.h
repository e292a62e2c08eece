#ifndef NCCLPROF_INGEST_PIPELINE_H
#define NCCLPROF_INGEST_PIPELINE_H

#include "base/error.h"
#include "ingest/parts.h"
#include "store/batch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

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

#endif

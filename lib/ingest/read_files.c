/*
 * The pipeline from the threads that parse files to the thread that writes the store, the call of a format's
 * reader, and the selection of files for one of several ingest tasks.
 */

#include "base/base.h"
#include "format/format.h"
#include "ingest/ingest.h"
#include "ingest/internal.h"
#include "input/input.h"
#include "store/store.h"

#include <stdlib.h>
#include <time.h>

int pipeline_init(struct pipeline *pipeline, const struct parts *parts, int workers, struct error *error)
{
    *pipeline = (struct pipeline){.parts = parts, .working = workers};
    pthread_mutex_init(&pipeline->mutex, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&pipeline->has_message, &attributes);
    pthread_cond_init(&pipeline->has_room, NULL);
    pthread_condattr_destroy(&attributes);
    size_t count = 2 * (size_t)workers + 2;
    pipeline->batches = array_new(count, sizeof *pipeline->batches);
    pipeline->empty = array_new(count, sizeof *pipeline->empty);
    if (!pipeline->batches || !pipeline->empty)
        return error_no_memory(error);
    for (; pipeline->batch_count < count; pipeline->batch_count++) {
        batch_init(&pipeline->batches[pipeline->batch_count]);
        pipeline->empty[pipeline->empty_count++] = &pipeline->batches[pipeline->batch_count];
    }
    return 0;
}

void pipeline_release(struct pipeline *pipeline)
{
    for (size_t i = 0; i < pipeline->batch_count; i++)
        batch_release(&pipeline->batches[i]);
    free(pipeline->batches);
    free(pipeline->empty);
    pthread_cond_destroy(&pipeline->has_message);
    pthread_cond_destroy(&pipeline->has_room);
    pthread_mutex_destroy(&pipeline->mutex);
}

/* Whether the next part belongs to a file of which other parts were taken already. */
static int is_inside_file(const struct pipeline *pipeline)
{
    return pipeline->taken < pipeline->parts->count &&
           pipeline->parts->items[pipeline->taken].first < pipeline->taken;
}

/* A file that was started continues even if the gate is closed. */
static int must_wait(const struct pipeline *pipeline)
{
    return pipeline->gate_closed && !pipeline->stopped && pipeline->taken < pipeline->parts->count &&
           !is_inside_file(pipeline);
}

long pipeline_take(struct pipeline *pipeline)
{
    long part = -1;
    pthread_mutex_lock(&pipeline->mutex);
    while (must_wait(pipeline))
        pthread_cond_wait(&pipeline->has_room, &pipeline->mutex);
    if (!pipeline->stopped && pipeline->taken < pipeline->parts->count) {
        part = (long)pipeline->taken++;
        pipeline->in_flight++;
    }
    pthread_mutex_unlock(&pipeline->mutex);
    return part;
}

struct batch *pipeline_batch(struct pipeline *pipeline)
{
    pthread_mutex_lock(&pipeline->mutex);
    while (pipeline->empty_count == 0)
        pthread_cond_wait(&pipeline->has_room, &pipeline->mutex);
    struct batch *batch = pipeline->empty[--pipeline->empty_count];
    pthread_mutex_unlock(&pipeline->mutex);
    return batch;
}

void pipeline_send(struct pipeline *pipeline, enum message_kind kind, size_t part, struct batch *batch)
{
    pthread_mutex_lock(&pipeline->mutex);
    while (pipeline->message_count == PIPELINE_MESSAGES)
        pthread_cond_wait(&pipeline->has_room, &pipeline->mutex);
    size_t at = (pipeline->first + pipeline->message_count++) % PIPELINE_MESSAGES;
    pipeline->messages[at] = (struct message){.kind = kind, .part = part, .batch = batch};
    pthread_cond_signal(&pipeline->has_message);
    pthread_mutex_unlock(&pipeline->mutex);
}

void pipeline_leave(struct pipeline *pipeline)
{
    pthread_mutex_lock(&pipeline->mutex);
    pipeline->working--;
    pthread_cond_signal(&pipeline->has_message);
    pthread_mutex_unlock(&pipeline->mutex);
}

void pipeline_fail(struct pipeline *pipeline, const struct error *error)
{
    pthread_mutex_lock(&pipeline->mutex);
    if (!pipeline->stopped)
        pipeline->error = *error;
    pipeline->stopped = 1;
    pthread_cond_broadcast(&pipeline->has_room);
    pthread_mutex_unlock(&pipeline->mutex);
}

static struct timespec after_ms(int wait_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += wait_ms * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    return until;
}

struct message pipeline_receive(struct pipeline *pipeline, int wait_ms)
{
    struct message message = {.kind = MESSAGE_NONE};
    struct timespec until = after_ms(wait_ms);
    int late = 0;
    pthread_mutex_lock(&pipeline->mutex);
    while (pipeline->message_count == 0 && pipeline->working && !late)
        late = pthread_cond_timedwait(&pipeline->has_message, &pipeline->mutex, &until) != 0;
    if (pipeline->message_count) {
        message = pipeline->messages[pipeline->first];
        pipeline->first = (pipeline->first + 1) % PIPELINE_MESSAGES;
        pipeline->message_count--;
        pthread_cond_broadcast(&pipeline->has_room);
    } else if (!pipeline->working) {
        message.kind = MESSAGE_END;
    }
    pthread_mutex_unlock(&pipeline->mutex);
    return message;
}

void pipeline_return(struct pipeline *pipeline, struct batch *batch)
{
    batch_clear(batch);
    pthread_mutex_lock(&pipeline->mutex);
    pipeline->empty[pipeline->empty_count++] = batch;
    pthread_cond_broadcast(&pipeline->has_room);
    pthread_mutex_unlock(&pipeline->mutex);
}

void pipeline_done(struct pipeline *pipeline)
{
    pthread_mutex_lock(&pipeline->mutex);
    pipeline->in_flight--;
    pthread_mutex_unlock(&pipeline->mutex);
}

size_t pipeline_close_gate(struct pipeline *pipeline, size_t *taken)
{
    pthread_mutex_lock(&pipeline->mutex);
    pipeline->gate_closed = 1;
    size_t in_flight = pipeline->in_flight + (is_inside_file(pipeline) ? 1 : 0);
    *taken = pipeline->taken;
    pthread_mutex_unlock(&pipeline->mutex);
    return in_flight;
}

void pipeline_open_gate(struct pipeline *pipeline)
{
    pthread_mutex_lock(&pipeline->mutex);
    pipeline->gate_closed = 0;
    pthread_cond_broadcast(&pipeline->has_room);
    pthread_mutex_unlock(&pipeline->mutex);
}

/* Reads the rest of the input, so that the digest includes all bytes. */
static int read_to_end(struct input *input, struct error *error)
{
    struct input_line line;
    int more;
    do
        more = input_line(input, &line, error);
    while (more == 1);
    return more;
}

int ingest_read(const struct format *format, struct input *input, const char *path,
                int (*stopped)(void *context), void *context, const struct format_sink *sink, char *dialect,
                size_t dialect_bytes, struct error *error)
{
    if (!format->read_tables)
        return format->read(input, sink, dialect, dialect_bytes, error);
    struct foreign *foreign = foreign_open(path, stopped, context, error);
    if (!foreign)
        return -1;
    int failed = format->read_tables(foreign_tables(foreign), sink, dialect, dialect_bytes, error);
    foreign_close(foreign);
    return failed || read_to_end(input, error) ? -1 : 0;
}

void partition_take(struct walk *walk, int64_t number, int64_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < walk->count; i++) {
        struct walk_file *file = &walk->files[i];
        if ((int64_t)i % count == number) {
            walk->files[kept++] = *file;
            continue;
        }
        walk->starts[file->start].has_known = 1;
        free(file->path);
        free(file->realpath);
        free(file->copy);
        free(file->folder);
    }
    walk->count = kept;
}

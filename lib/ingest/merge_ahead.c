#include "ingest/merge_ahead.h"

#include "base/array.h"
#include "store/store.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

enum {
    AHEAD = 4,        /* files */
    MOST_READERS = 64 /* stores that are open at once: of more, those that were opened first are closed */
};

/* A store that is open. */
struct reader {
    struct store *store;
    struct unloader *unloader;
};

/* A file that has been read, or cannot be. */
struct slot {
    struct unload load;
    struct error error;
    int failed;
};

struct merge_ahead {
    struct merge_plan *plan;
    pthread_t thread;
    int has_thread;
    pthread_mutex_t mutex; /* of what follows, up to the slots */
    pthread_cond_t changed;
    size_t read; /* files */
    size_t done;
    int stopped;
    struct slot slots[AHEAD];  /* of files from `done` on, by their numbers */
    pthread_mutex_t reading;   /* one thread at a time reads; of what follows */
    struct reader *readers;    /* owned: one a source */
    size_t open[MOST_READERS]; /* sources, in a ring */
    size_t opened;             /* ever */
};

static void close_reader(struct reader *reader)
{
    unloader_free(reader->unloader);
    store_close(reader->store);
    *reader = (struct reader){.store = NULL};
}

static struct unloader *reader_of(struct merge_ahead *ahead, size_t source, struct error *error)
{
    struct reader *reader = &ahead->readers[source];
    if (reader->unloader)
        return reader->unloader;
    if (!reader->store) {
        size_t *place = &ahead->open[ahead->opened++ % MOST_READERS];
        if (ahead->opened > MOST_READERS)
            close_reader(&ahead->readers[*place]);
        *place = source;
        reader->store = merge_source_open(&ahead->plan->sources[source], error);
    }
    if (reader->store)
        reader->unloader = unloader_new(reader->store, error);
    return reader->unloader;
}

static int read_file(struct merge_ahead *ahead, size_t number, struct slot *slot)
{
    const struct merge_file *file = &ahead->plan->files[number];
    pthread_mutex_lock(&ahead->reading);
    struct unloader *unloader = reader_of(ahead, file->source, &slot->error);
    int failed = !unloader ||
                 unloader_begin(unloader, &slot->load, file->stored->id, file->stored->digest, &slot->error);
    pthread_mutex_unlock(&ahead->reading);
    return failed;
}

/* The next file to read; the count of all: there is none, or nobody wants it. */
static size_t next_file(struct merge_ahead *ahead)
{
    pthread_mutex_lock(&ahead->mutex);
    while (!ahead->stopped && ahead->read < ahead->plan->file_count && ahead->read - ahead->done >= AHEAD)
        pthread_cond_wait(&ahead->changed, &ahead->mutex);
    size_t number = ahead->stopped ? ahead->plan->file_count : ahead->read;
    pthread_mutex_unlock(&ahead->mutex);
    return number;
}

static void *read_all(void *context)
{
    struct merge_ahead *ahead = context;
    size_t number;
    while ((number = next_file(ahead)) < ahead->plan->file_count) {
        struct slot *slot = &ahead->slots[number % AHEAD];
        slot->failed = read_file(ahead, number, slot);
        pthread_mutex_lock(&ahead->mutex);
        ahead->read++;
        pthread_cond_broadcast(&ahead->changed);
        pthread_mutex_unlock(&ahead->mutex);
    }
    return NULL;
}

struct merge_ahead *merge_ahead_new(struct merge_plan *plan, struct error *error)
{
    struct merge_ahead *ahead = calloc(1, sizeof *ahead);
    if (!ahead || !(ahead->readers = array_new(plan->source_count, sizeof *ahead->readers))) {
        free(ahead);
        error_no_memory(error);
        return NULL;
    }
    ahead->plan = plan;
    pthread_mutex_init(&ahead->mutex, NULL);
    pthread_mutex_init(&ahead->reading, NULL);
    pthread_cond_init(&ahead->changed, NULL);
    /* Ctrl-C is the main thread's affair. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int number = pthread_create(&ahead->thread, NULL, read_all, ahead);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    ahead->has_thread = number == 0;
    if (number == 0)
        return ahead;
    merge_ahead_free(ahead);
    error_set_errno(error, number, "cannot start a thread");
    return NULL;
}

void merge_ahead_free(struct merge_ahead *ahead)
{
    if (!ahead)
        return;
    pthread_mutex_lock(&ahead->mutex);
    ahead->stopped = 1;
    pthread_cond_broadcast(&ahead->changed);
    pthread_mutex_unlock(&ahead->mutex);
    if (ahead->has_thread)
        pthread_join(ahead->thread, NULL);
    for (int i = 0; i < AHEAD; i++)
        unload_release(&ahead->slots[i].load);
    for (size_t i = 0; i < ahead->plan->source_count; i++)
        close_reader(&ahead->readers[i]);
    pthread_mutex_destroy(&ahead->mutex);
    pthread_mutex_destroy(&ahead->reading);
    pthread_cond_destroy(&ahead->changed);
    free(ahead->readers);
    free(ahead);
}

struct unload *merge_ahead_take(struct merge_ahead *ahead, size_t file, struct error *error)
{
    struct slot *slot = &ahead->slots[file % AHEAD];
    pthread_mutex_lock(&ahead->mutex);
    while (ahead->read <= file)
        pthread_cond_wait(&ahead->changed, &ahead->mutex);
    pthread_mutex_unlock(&ahead->mutex);
    if (!slot->failed)
        return &slot->load;
    *error = slot->error;
    return NULL;
}

int merge_ahead_more(struct merge_ahead *ahead, size_t file, struct unload *load, struct error *error)
{
    pthread_mutex_lock(&ahead->reading);
    struct unloader *unloader = reader_of(ahead, ahead->plan->files[file].source, error);
    int failed = !unloader || unloader_more(unloader, load, error);
    pthread_mutex_unlock(&ahead->reading);
    return failed ? -1 : 0;
}

void merge_ahead_done(struct merge_ahead *ahead, size_t file)
{
    struct slot *slot = &ahead->slots[file % AHEAD];
    slot->error = (struct error)ERROR_INIT;
    pthread_mutex_lock(&ahead->mutex);
    ahead->done = file + 1;
    pthread_cond_broadcast(&ahead->changed);
    pthread_mutex_unlock(&ahead->mutex);
}

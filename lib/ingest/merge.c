/*
 * Merges stores: copies the files of a merge plan (merge_plan.c) into one store with the same writer that an
 * ingest uses. Threads read ahead from the sources while the calling thread writes.
 */

#include "base/base.h"
#include "ingest/ingest.h"
#include "ingest/internal.h"
#include "store/store.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    AHEAD = 4,        /* files read ahead */
    MOST_READERS = 64 /* open stores at most; beyond that, those opened first are closed */
};

/* An open store. */
struct reader {
    struct store *store;
    struct unloader *unloader;
};

/* A file that was read or cannot be read. */
struct slot {
    struct unload load;
    struct error error;
    int failed;
};

struct merge_ahead {
    struct merge_plan *plan;
    pthread_t thread;
    int has_thread;
    pthread_mutex_t mutex; /* protects the following members, up to the slots */
    pthread_cond_t changed;
    size_t read; /* number of files */
    size_t done;
    int stopped;
    struct slot slots[AHEAD];  /* files from `done` on, indexed by file number */
    pthread_mutex_t reading;   /* held by the thread that reads; protects the following members */
    struct reader *readers;    /* owned: one for each source */
    size_t open[MOST_READERS]; /* ring of source numbers */
    size_t opened;             /* total number opened so far */
};

static void merge_ahead_free(struct merge_ahead *ahead);

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

/* The next file to read; the number of files if there is none or the merge was stopped. */
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

/* Borrows the plan. NULL with `error` set on failure. */
static struct merge_ahead *merge_ahead_new(struct merge_plan *plan, struct error *error)
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
    /* Only the main thread handles Ctrl-C. */
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

static void merge_ahead_free(struct merge_ahead *ahead)
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

/*
 * Waits for the first piece of the next file (files are taken in the order 0, 1, 2 ...). It stays owned by
 * `ahead` until merge_ahead_done. NULL with `error` set if the source is at fault or memory is out.
 */
static struct unload *merge_ahead_take(struct merge_ahead *ahead, size_t file, struct error *error)
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

/* Reads the next piece of the file. -1 as for merge_ahead_take. */
static int merge_ahead_more(struct merge_ahead *ahead, size_t file, struct unload *load, struct error *error)
{
    pthread_mutex_lock(&ahead->reading);
    struct unloader *unloader = reader_of(ahead, ahead->plan->files[file].source, error);
    int failed = !unloader || unloader_more(unloader, load, error);
    pthread_mutex_unlock(&ahead->reading);
    return failed ? -1 : 0;
}

/* Ends the file, whatever merge_ahead_take returned. */
static void merge_ahead_done(struct merge_ahead *ahead, size_t file)
{
    struct slot *slot = &ahead->slots[file % AHEAD];
    slot->error = (struct error)ERROR_INIT;
    pthread_mutex_lock(&ahead->mutex);
    ahead->done = file + 1;
    pthread_cond_broadcast(&ahead->changed);
    pthread_mutex_unlock(&ahead->mutex);
}

struct merging {
    struct merge *merge;
    struct store *store;
    struct writer *writer;
    struct merge_ahead *ahead;
    struct file_result *results; /* owned: one for each file */
    size_t done;                 /* number of files */
    size_t safe;                 /* number of files committed */
    uint64_t bytes;
};

/* ---- shards ---- */

static int is_same_shard(const struct shard *one, const struct shard *other)
{
    if (one->count > 1 || other->count > 1 || (*one->host && *other->host))
        return one->number == other->number && one->count == other->count &&
               strcmp(one->job, other->job) == 0 && (one->count > 1 || strcmp(one->host, other->host) == 0);
    return strcmp(one->path, other->path) == 0;
}

/* A missing shard number without a path is not copied; shards_add_missing adds it again. */
static int is_copied_to_merge(const struct shard *shard)
{
    return shard->state != SHARD_MISSING || *shard->path;
}

/* Whether another source has a better state of the same shard. */
static int has_better_state_elsewhere(const struct merge *merge, size_t source, const struct shard *shard)
{
    for (size_t i = 0; i < merge->plan.source_count; i++)
        for (size_t j = 0; i != source && j < merge->plan.sources[i].shards.count; j++) {
            const struct shard *other = &merge->plan.sources[i].shards.items[j];
            if (is_copied_to_merge(other) && is_same_shard(shard, other) &&
                (other->state < shard->state || (other->state == shard->state && i < source)))
                return 1;
        }
    return 0;
}

/* The row to write for a source, or for a shard that was merged into it earlier. */
static struct shard what_is_said(const struct merge_source *source, const struct shard *of, int has_ended)
{
    static char none[] = "", not_ended[] = "its merge did not finish; merge it again";
    struct shard said = of ? *of : (struct shard){.job = none, .count = 1, .host = none, .path = none};
    if (!*said.path)
        said.path = source->path;
    if (source->why_lost) {
        said.state = SHARD_MISSING;
        said.reason = source->why_lost;
    } else if (!has_ended) {
        said.state = SHARD_UNFINISHED;
        said.reason = not_ended;
    } else if (source->why_damaged && said.state == SHARD_WHOLE) {
        said.state = SHARD_LACKING;
        said.reason = source->why_damaged;
    }
    return said;
}

static int write_shards_of(struct merging *merging, size_t number, int has_ended, struct error *error)
{
    const struct merge_source *source = &merging->merge->plan.sources[number];
    struct shard said = what_is_said(source, NULL, has_ended);
    if (!source->shards.count)
        return shard_write(merging->store, &said, error);
    for (size_t i = 0; i < source->shards.count; i++) {
        const struct shard *shard = &source->shards.items[i];
        if (!is_copied_to_merge(shard) || has_better_state_elsewhere(merging->merge, number, shard))
            continue;
        said = what_is_said(source, shard, has_ended);
        if (shard_write(merging->store, &said, error))
            return -1;
    }
    return 0;
}

/* Writes the rows of all shards: before the first file, and again after the last one with `has_ended` set. */
static int write_shards(struct merging *merging, int has_ended, struct error *error)
{
    const struct merge *merge = merging->merge;
    if (store_begin(merging->store, error))
        return -1;
    int failed = store_set_shard(merging->store, merge->stays_shard, error);
    for (size_t i = 0; i < merge->plan.source_count && !failed; i++)
        failed = write_shards_of(merging, i, has_ended, error);
    if (!failed && has_ended)
        failed = shards_add_missing(merging->store, error);
    if (!failed && merge->expected)
        failed = store_set_fact(merging->store, "shards_expected", merge->expected, error);
    if (!failed && store_commit(merging->store, error) == 0)
        return 0;
    store_rollback(merging->store);
    return -1;
}

/* ---- files ---- */

/* Records why a file cannot be read. The first such file of a source becomes the reason of its shard. */
static int record_file_fault(struct merge_source *source, struct file_result *result, struct error *error)
{
    if (error->is_no_memory)
        return -1;
    result->status = FILE_FAILED;
    result->reason = merge_error_text(error);
    error_clear(error);
    if (!source->why_damaged &&
        asprintf(&source->why_damaged, "%s: %s", result->path, result->reason ? result->reason : "") < 0)
        source->why_damaged = NULL;
    return result->reason && source->why_damaged ? 0 : error_no_memory(error);
}

static int finish_file(struct merging *merging, const struct merge_file *file, struct writer_file *target,
                       const struct ledger *ledger, struct file_result *result, struct error *error)
{
    static const enum file_status statuses[] = {[WRITER_INGESTED] = FILE_INGESTED,
                                                [WRITER_OPEN] = FILE_OPEN,
                                                [WRITER_PARTIAL] = FILE_PARTIAL,
                                                [WRITER_UNCHANGED] = FILE_UNCHANGED};
    const struct stored_file *stored = file->stored;
    enum writer_outcome outcome;
    const struct writer_facts facts = {.dialect = stored->dialect,
                                       .digest = stored->digest,
                                       .unpacked_digest = stored->unpacked_digest,
                                       .bytes = (uint64_t)stored->bytes,
                                       .unpacked_bytes = (uint64_t)stored->unpacked_bytes,
                                       .events = stored->events,
                                       .modified_ns = stored->modified_ns,
                                       .reader = stored->reader,
                                       .reader_version = stored->reader_version,
                                       .by_reader = 1,
                                       .ledger = ledger,
                                       .is_open = stored->is_open,
                                       .is_snapshot = merge_is_snapshot(stored->dialect)};
    if (writer_finish(merging->writer, target, &facts, &outcome, error))
        return -1;
    result->status = statuses[outcome];
    return ingest_describe_damage(ledger, result, error);
}

/* Copies all rows of a file. 1, with `error` set: the source is at fault. */
static int copy_rows(struct merging *merging, size_t number, struct unload *load, struct writer_file *target,
                     struct error *error)
{
    for (;;) {
        int outcome = writer_unload(merging->writer, target, load, error);
        if (outcome || load->is_all)
            return outcome;
        if (merge_ahead_more(merging->ahead, number, load, error))
            return 1;
    }
}

/* Copies a file. 1, with `error` set: the source is at fault, and nothing of the file is kept. */
static int copy_file(struct merging *merging, size_t number, struct file_result *result, struct error *error)
{
    const struct merge_file *file = &merging->merge->plan.files[number];
    struct unload *load = merge_ahead_take(merging->ahead, number, error);
    struct writer_file target;
    if (!load)
        return 1;
    if (writer_begin(merging->writer, &target, (int64_t)number, 0, file->path, file->file_set, error))
        return -1;
    int outcome = copy_rows(merging, number, load, &target, error);
    if (outcome == 0)
        outcome = finish_file(merging, file, &target, &load->ledger, result, error);
    else if (outcome > 0 && writer_abandon(merging->writer, &target, error))
        outcome = -1;
    writer_file_release(&target);
    return outcome;
}

static int take_file(struct merging *merging, size_t number, struct error *error)
{
    struct merge *merge = merging->merge;
    const struct merge_file *file = &merge->plan.files[number];
    struct file_result *result = &merging->results[number];
    *result = (struct file_result){.path = file->path,
                                   .status = FILE_FAILED,
                                   .events = file->stored->events,
                                   .skipped = file->stored->skipped,
                                   .bytes = (uint64_t)file->stored->bytes};
    snprintf(result->dialect, sizeof result->dialect, "%s", file->stored->dialect);
    int outcome = copy_file(merging, number, result, error);
    merge_ahead_done(merging->ahead, number);
    if (outcome > 0)
        outcome = record_file_fault(&merge->plan.sources[file->source], result, error);
    if (outcome)
        return -1;
    merge->hooks.tell(merge->hooks.context, result);
    merging->bytes += result->bytes;
    merge->hooks.progress(merge->hooks.context, number + 1, merging->bytes);
    return 0;
}

static int take_files(struct merging *merging, struct error *error)
{
    const struct merge_plan *plan = &merging->merge->plan;
    const struct ingest_hooks *hooks = &merging->merge->hooks;
    for (; merging->done < plan->file_count; merging->done++) {
        if (hooks->interrupted(hooks->context))
            break;
        if (take_file(merging, merging->done, error))
            return -1;
        if (!writer_is_due(merging->writer))
            continue;
        if (writer_commit(merging->writer, error))
            return -1;
        merging->safe = merging->done + 1;
    }
    if (writer_commit(merging->writer, error))
        return -1;
    merging->safe = merging->done;
    return merging->done < plan->file_count ? error_set(error, "interrupted") : 0;
}

/* Passes on the results; a file that was not committed is not in the store. */
static int give_results(struct merging *merging, struct error *error)
{
    const struct merge *merge = merging->merge;
    for (size_t i = 0; i < merging->done; i++) {
        if (i >= merging->safe && file_is_read(merging->results[i].status))
            merging->results[i].status = FILE_FAILED;
        if (merge->hooks.take(merge->hooks.context, &merging->results[i], error))
            return -1;
    }
    return 0;
}

/* Reports each store that cannot be read as a failed file. */
static int report_lost_stores(const struct merge *merge, struct error *error)
{
    for (size_t i = 0; i < merge->plan.source_count; i++) {
        const struct merge_source *source = &merge->plan.sources[i];
        struct file_result result = {.path = source->given, .status = FILE_FAILED};
        if (!source->why_lost)
            continue;
        result.reason = strdup(source->why_lost);
        if (!result.reason)
            return error_no_memory(error);
        merge->hooks.tell(merge->hooks.context, &result);
        int failed = merge->hooks.take(merge->hooks.context, &result, error);
        free(result.reason);
        if (failed)
            return -1;
    }
    return 0;
}

static int has_readable(const struct merge_plan *plan)
{
    for (size_t i = 0; i < plan->source_count; i++)
        if (!plan->sources[i].why_lost)
            return 1;
    return 0;
}

static int write_all(struct merging *merging, struct error *error)
{
    merging->results = array_new(merging->merge->plan.file_count, sizeof *merging->results);
    if (!merging->results)
        return error_no_memory(error);
    if (write_shards(merging, 0, error) || !(merging->writer = writer_new(merging->store, error)) ||
        !(merging->ahead = merge_ahead_new(&merging->merge->plan, error)))
        return -1;
    int outcome = take_files(merging, error);
    if (give_results(merging, outcome ? NULL : error))
        outcome = -1;
    writer_free(merging->writer);
    merging->writer = NULL;
    return outcome || write_shards(merging, 1, error) ? -1 : 0;
}

static void release(struct merging *merging)
{
    merge_ahead_free(merging->ahead);
    for (size_t i = 0; merging->results && i < merging->merge->plan.file_count; i++)
        free(merging->results[i].reason);
    writer_free(merging->writer);
    free(merging->results);
}

int merge_run(struct merge *merge, struct store **store, const char *path, struct error *error)
{
    if (report_lost_stores(merge, error))
        return -1;
    if (!*store && !has_readable(&merge->plan))
        return error_set(error, "none of the shards can be read");
    if (!*store && !(*store = store_open(path, STORE_CREATE, error)))
        return -1;
    struct merging merging = {.merge = merge, .store = *store};
    int outcome = write_all(&merging, error);
    release(&merging);
    return outcome;
}

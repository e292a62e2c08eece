/*
 * Runs an ingest: worker threads read the files of a walk, and the calling thread writes their rows into the
 * store, commits, and reports the results in the order of the walk.
 */

#include "base/base.h"
#include "format/format.h"
#include "ingest/ingest.h"
#include "ingest/internal.h"
#include "input/input.h"
#include "store/store.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Longest time between two progress reports. */
enum { LOOK_MS = 200 };

/* One part of a file. Its worker fills it; the writer reads it after the worker's last message. */
struct slot {
    struct file_result result; /* in the first part of a file: finally the result for the whole file */
    struct file_facts facts;
    struct writer_file target; /* used by the writer */
    int begun;                 /* some of its rows are in the transaction */
    int is_continued;          /* first part: the store is ready for further rows of the file */
    enum message_kind last;    /* last message of its worker; MESSAGE_NONE while it is being read */
};

struct reader_threads {
    const struct ingest *ingest;
    const struct walk *walk;
    const char **named; /* owned: the paths given by the user, sorted, because each file is looked up */
    struct parts parts;
    struct pipeline pipeline;
    struct slot *slots; /* one for each part */
    struct store **store;
    struct writer *writer; /* NULL until there is something to write */
    size_t concluded;      /* number of files */
    size_t safe;           /* slots before this one are committed */
};

static int by_text(const void *a, const void *b)
{
    const char *const *left = a, *const *right = b;
    return strcmp(*left, *right);
}

static int list_named(struct reader_threads *threads)
{
    size_t count = threads->ingest->named_count;
    threads->named = array_new(count, sizeof *threads->named);
    for (size_t i = 0; threads->named && i < count; i++)
        threads->named[i] = threads->ingest->named[i];
    if (threads->named)
        array_sort(threads->named, count, sizeof *threads->named, by_text);
    return threads->named ? 0 : -1;
}

static int is_named(const struct reader_threads *threads, const char *path)
{
    size_t count = threads->ingest->named_count;
    return count && bsearch(&path, threads->named, count, sizeof *threads->named, by_text) != NULL;
}

static void *work(void *context)
{
    struct reader_threads *threads = context;
    struct batch *batch = pipeline_batch(&threads->pipeline);
    long number;
    while ((number = pipeline_take(&threads->pipeline)) >= 0) {
        struct slot *slot = &threads->slots[number];
        const struct part *part = &threads->parts.items[number];
        const struct walk_file *file = &threads->walk->files[part->file];
        struct error error = ERROR_INIT;
        enum message_kind last =
            ingest_file(threads->ingest, &threads->pipeline, (size_t)number, file, part,
                        is_named(threads, file->path), &batch, &slot->result, &slot->facts, &error);
        if (last == MESSAGE_ABANDON)
            pipeline_fail(&threads->pipeline, &error);
        pipeline_send(&threads->pipeline, last, (size_t)number, NULL);
    }
    pipeline_return(&threads->pipeline, batch);
    pipeline_leave(&threads->pipeline);
    return NULL;
}

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return strdup(path);
    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

/* Creates the store only when there is something to write, so unreadable input leaves no empty store. */
static int need_writer(struct reader_threads *threads, struct error *error)
{
    if (!*threads->store)
        *threads->store = store_open(threads->ingest->store_path, STORE_CREATE, error);
    if (*threads->store && !threads->writer)
        threads->writer = writer_new(*threads->store, error);
    return threads->writer ? 0 : -1;
}

/* The rows behind the last cut give way to what is read from there now. */
static int continue_file(struct reader_threads *threads, size_t number, struct error *error)
{
    size_t first_number = threads->parts.items[number].first;
    const struct part *first = &threads->parts.items[first_number];
    struct slot *slot = &threads->slots[number], *whole = &threads->slots[first_number];
    int64_t kept = whole->is_continued ? 0 : (int64_t)(first->begin / FORMAT_RECORD_BYTES);
    whole->is_continued = 1;
    return writer_continue(threads->writer, &slot->target, first->file_id, kept, error);
}

static int begin_part(struct reader_threads *threads, size_t number, struct error *error)
{
    struct slot *slot = &threads->slots[number];
    const struct part *part = &threads->parts.items[number];
    const struct walk_file *file = &threads->walk->files[part->file];
    const char *path = file->realpath;
    if (slot->begun)
        return 0;
    if (need_writer(threads, error))
        return -1;
    char *folder = file->folder ? strdup(file->folder) : folder_of(path);
    int64_t first_ordinal = (int64_t)(part->begin / FORMAT_RECORD_BYTES);
    int outcome = folder ? writer_begin(threads->writer, &slot->target, (int64_t)part->file, first_ordinal,
                                        path, folder, error)
                         : error_no_memory(error);
    free(folder);
    slot->begun = outcome == 0;
    return outcome == 0 && part->file_id ? continue_file(threads, number, error) : outcome;
}

/* Time of the last modification; 0 if it is not a file or the time is invalid. */
static int64_t modified_ns(const char *path)
{
    struct stat status;
    int64_t time_ns;
    if (strcmp(path, "-") == 0 || stat(path, &status) || status.st_mtim.tv_sec <= 0 ||
        __builtin_mul_overflow((int64_t)status.st_mtim.tv_sec, INT64_C(1000000000), &time_ns) ||
        __builtin_add_overflow(time_ns, (int64_t)status.st_mtim.tv_nsec, &time_ns))
        return 0;
    return time_ns;
}

static int finish_file(struct reader_threads *threads, size_t first, struct error *error)
{
    struct slot *slot = &threads->slots[first];
    const struct part *part = &threads->parts.items[first];
    const struct writer_facts facts = {
        .dialect = slot->result.dialect,
        .digest = slot->facts.digest,
        .unpacked_digest = *slot->facts.unpacked_digest ? slot->facts.unpacked_digest : NULL,
        .bytes = part->followed ? part->size : slot->result.bytes,
        .unpacked_bytes = part->followed ? part->size : slot->facts.unpacked_bytes,
        .events = slot->result.events,
        .modified_ns = modified_ns(threads->walk->files[part->file].realpath),
        .reader = slot->facts.format->name,
        .reader_version = slot->facts.format->version,
        .ledger = slot->facts.ledger,
        .force = threads->ingest->force,
        .continues = part->file_id != 0,
        .is_open = ledger_find(slot->facts.ledger, FORMAT_NOTE_OPEN) != NULL,
        .has_moved = slot->facts.has_moved || slot->facts.is_read_again,
        .is_snapshot = slot->facts.is_snapshot};
    enum writer_outcome outcome;
    if (begin_part(threads, first, error) ||
        writer_finish(threads->writer, &slot->target, &facts, &outcome, error))
        return -1;
    static const enum file_status statuses[] = {[WRITER_INGESTED] = FILE_INGESTED,
                                                [WRITER_OPEN] = FILE_OPEN,
                                                [WRITER_PARTIAL] = FILE_PARTIAL,
                                                [WRITER_UNCHANGED] = FILE_UNCHANGED};
    slot->result.status = statuses[outcome];
    slot->result.is_read_again = slot->facts.is_read_again && outcome != WRITER_UNCHANGED;
    return 0;
}

/* Removes the rows of all parts of a file, by abandoning one of them. */
static int drop_file(struct reader_threads *threads, size_t first, struct error *error)
{
    for (size_t i = first; i < first + threads->parts.items[first].count; i++)
        if (threads->slots[i].begun)
            return writer_abandon(threads->writer, &threads->slots[i].target, error);
    return 0;
}

/* Of a followed file, keeps what is final: the parts before the last. Then makes the first part the last. */
static int keep_parts(struct reader_threads *threads, size_t first, struct error *error)
{
    struct followed *followed = threads->parts.items[first].followed;
    struct slot *whole = &threads->slots[first], *last = whole + threads->parts.items[first].count - 1;
    uint64_t bytes = 0;
    for (struct slot *slot = whole; slot <= last; slot++)
        bytes += slot->result.bytes;
    for (struct slot *slot = whole; slot < last; slot++)
        if (followed_keep(followed, &slot->result, slot->facts.ledger, error))
            return -1;
    if (last != whole) {
        struct ledger *ledger = whole->facts.ledger;
        whole->facts.ledger = last->facts.ledger;
        last->facts.ledger = ledger;
        whole->result.events = last->result.events;
        memcpy(whole->result.dialect, last->result.dialect, sizeof whole->result.dialect);
    }
    whole->result.bytes = bytes;
    return followed_add(followed, &whole->result, whole->facts.ledger, error) ||
                   ingest_describe_damage(whole->facts.ledger, &whole->result, error)
               ? -1
               : 0;
}

/* Adds the results of the other parts to that of the first one. */
static int add_up(struct reader_threads *threads, size_t first, struct error *error)
{
    struct slot *whole = &threads->slots[first];
    size_t count = threads->parts.items[first].count;
    if (threads->parts.items[first].followed)
        return keep_parts(threads, first, error);
    for (size_t i = first + 1; i < first + count; i++) {
        const struct slot *slot = &threads->slots[i];
        if (whole->result.events == 0)
            memcpy(whole->result.dialect, slot->result.dialect, sizeof whole->result.dialect);
        whole->result.events += slot->result.events;
        whole->result.skipped += slot->result.skipped;
        whole->result.bytes += slot->result.bytes;
        whole->facts.unpacked_bytes += slot->facts.unpacked_bytes;
        if (ledger_add(whole->facts.ledger, slot->facts.ledger, error))
            return -1;
    }
    return count > 1 ? ingest_describe_damage(whole->facts.ledger, &whole->result, error) : 0;
}

/* Copies the reason why another part could not be read to the first part. */
static void move_failure(struct reader_threads *threads, size_t first)
{
    struct file_result *whole = &threads->slots[first].result;
    for (size_t i = first + 1; i < first + threads->parts.items[first].count; i++) {
        struct file_result *result = &threads->slots[i].result;
        if (threads->slots[i].last != MESSAGE_PASSED || whole->status == FILE_FAILED)
            continue;
        whole->status = FILE_FAILED;
        whole->reason = result->reason;
        result->reason = NULL;
    }
}

/* Whether all parts of a file ended with this message. */
static int all_ended(const struct reader_threads *threads, size_t first, int (*like)(enum message_kind last))
{
    for (size_t i = first; i < first + threads->parts.items[first].count; i++)
        if (!like(threads->slots[i].last))
            return 0;
    return 1;
}

static int is_told(enum message_kind last)
{
    return last != MESSAGE_NONE && last != MESSAGE_ABANDON;
}

static int is_over(enum message_kind last)
{
    return last != MESSAGE_NONE;
}

static int is_finished(enum message_kind last)
{
    return last == MESSAGE_FINISH;
}

static void free_ledger(struct slot *slot)
{
    if (slot->facts.ledger)
        ledger_release(slot->facts.ledger);
    free(slot->facts.ledger);
    slot->facts.ledger = NULL;
}

/* Releases the parts of a completed file. */
static void forget(struct reader_threads *threads, size_t first)
{
    for (size_t i = first; i < first + threads->parts.items[first].count; i++) {
        writer_file_release(&threads->slots[i].target);
        free_ledger(&threads->slots[i]);
        threads->slots[i].begun = 0;
    }
}

/* Ends a file all of whose parts were read. */
static int conclude(struct reader_threads *threads, size_t first, struct error *error)
{
    int outcome;
    const struct ingest_hooks *hooks = &threads->ingest->hooks;
    int is_finished_file = all_ended(threads, first, is_finished);
    if (is_finished_file) {
        outcome = add_up(threads, first, error) || finish_file(threads, first, error);
    } else {
        move_failure(threads, first);
        outcome = drop_file(threads, first, error);
    }
    const struct part *part = &threads->parts.items[first];
    if (part->followed)
        followed_conclude(part->followed, part, threads->slots[first].facts.digest,
                          is_finished_file && file_is_read(threads->slots[first].result.status));
    forget(threads, first);
    threads->concluded++;
    if (outcome == 0 && all_ended(threads, first, is_told))
        hooks->tell(hooks->context, &threads->slots[first].result);
    return outcome ? -1 : 0;
}

/* Removes files that were stopped before all their parts were taken. */
static int drop_unfinished(struct reader_threads *threads, struct error *error)
{
    for (size_t i = 0; i < threads->parts.count; i += threads->parts.items[i].count) {
        if (drop_file(threads, i, error))
            return -1;
        forget(threads, i);
    }
    return 0;
}

/* Handles a message, unless the store failed before. */
static int handle(struct reader_threads *threads, const struct message *message, struct error *error)
{
    struct slot *slot = &threads->slots[message->part];
    size_t first = threads->parts.items[message->part].first;
    if (message->kind == MESSAGE_ROWS)
        return begin_part(threads, message->part, error) ||
                       writer_put(threads->writer, &slot->target, message->batch, error)
                   ? -1
                   : 0;
    slot->last = message->kind;
    return all_ended(threads, first, is_over) ? conclude(threads, first, error) : 0;
}

/* Commits if a commit is due and no file is incomplete. */
static int commit_if_due(struct reader_threads *threads, struct error *error)
{
    size_t taken;
    if (!threads->writer || !writer_is_due(threads->writer) ||
        pipeline_close_gate(&threads->pipeline, &taken))
        return 0;
    if (writer_commit(threads->writer, error))
        return -1;
    threads->safe = taken;
    pipeline_open_gate(&threads->pipeline);
    return 0;
}

static int write_all(struct reader_threads *threads, struct error *error)
{
    int outcome = 0;
    const struct ingest_hooks *hooks = &threads->ingest->hooks;
    for (;;) {
        struct message message = pipeline_receive(&threads->pipeline, LOOK_MS);
        hooks->progress(hooks->context, threads->concluded, threads->pipeline.bytes);
        if (message.kind == MESSAGE_END)
            break;
        if (message.kind == MESSAGE_NONE)
            continue;
        if (outcome == 0 && (outcome = handle(threads, &message, error)))
            pipeline_fail(&threads->pipeline, error);
        if (message.batch)
            pipeline_return(&threads->pipeline, message.batch);
        else
            pipeline_done(&threads->pipeline);
        if (outcome == 0 && (outcome = commit_if_due(threads, error)))
            pipeline_fail(&threads->pipeline, error);
    }
    return outcome;
}

/* Only the main thread handles Ctrl-C. */
static int start(struct reader_threads *threads, pthread_t *ids, int jobs, struct error *error)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int started = 0, number = 0;
    while (started < jobs && (number = pthread_create(&ids[started], NULL, work, threads)) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    for (int i = started; i < jobs; i++)
        pipeline_leave(&threads->pipeline);
    if (started == 0)
        error_set_errno(error, number, "cannot start a thread");
    return started;
}

/* Runs the workers and writes what they read. Afterwards all finished files are committed or lost. */
static int run_threads(struct reader_threads *threads, int jobs, struct error *error)
{
    pthread_t *ids = array_new((size_t)jobs, sizeof *ids);
    if (!ids)
        return error_no_memory(error);
    int started = start(threads, ids, jobs, error);
    int failed = started == 0 ? -1 : write_all(threads, error);
    for (int i = 0; i < started; i++)
        pthread_join(ids[i], NULL);
    free(ids);
    if (failed)
        return -1;
    if (drop_unfinished(threads, error) || (threads->writer && writer_commit(threads->writer, error)))
        return -1;
    threads->safe = threads->pipeline.taken;
    if (!threads->pipeline.stopped && !ingest_interrupted(threads->ingest))
        return 0;
    if (threads->pipeline.error.depth)
        *error = threads->pipeline.error;
    else
        error_set(error, "interrupted");
    return -1;
}

/* Passes on the results; a file that was not committed is not in the store. */
static int give_results(struct reader_threads *threads, struct error *error)
{
    const struct ingest_hooks *hooks = &threads->ingest->hooks;
    for (size_t i = 0; i < threads->pipeline.taken; i += threads->parts.items[i].count) {
        struct slot *slot = &threads->slots[i];
        int lost = i >= threads->safe && file_is_read(slot->result.status);
        if (lost || !all_ended(threads, i, is_told))
            slot->result.status = FILE_FAILED;
        if (hooks->take(hooks->context, &slot->result, error))
            return -1;
    }
    return 0;
}

static void release(struct reader_threads *threads)
{
    for (size_t i = 0; threads->slots && i < threads->parts.count; i++) {
        struct slot *slot = &threads->slots[i];
        free(slot->result.reason);
        free_ledger(slot);
        writer_file_release(&slot->target);
    }
    writer_free(threads->writer);
    free(threads->slots);
    free(threads->named);
    pipeline_release(&threads->pipeline);
    parts_release(&threads->parts);
}

int ingest_run_threads(const struct ingest *ingest, const struct walk *walk, struct store **store, int jobs,
                       struct error *error)
{
    struct reader_threads threads = {.ingest = ingest, .walk = walk, .store = store};
    int outcome = -1;
    if (list_named(&threads))
        error_no_memory(error);
    else if (parts_plan(&threads.parts, walk, ingest, error) == 0 &&
             pipeline_init(&threads.pipeline, &threads.parts, jobs, error) == 0) {
        threads.slots = array_new(threads.parts.count, sizeof *threads.slots);
        if (!threads.slots)
            error_no_memory(error);
    }
    if (threads.slots) {
        outcome = run_threads(&threads, jobs, error);
        if (give_results(&threads, outcome ? NULL : error))
            outcome = -1;
    }
    release(&threads);
    return outcome;
}

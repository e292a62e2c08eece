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

/* Whoever asked for it hears how far it is at least so often. */
enum { LOOK_MS = 200 };

/* One part: its worker fills it, and the writer reads it once the worker has sent its last message. */
struct slot {
    struct file_result result; /* in the end, of a file's first part: what became of the file */
    struct file_facts facts;
    struct writer_file target; /* the writer's */
    int begun;                 /* rows of it are in the store's transaction */
    enum message_kind last;    /* the worker is through with it; MESSAGE_NONE: it is not */
};

struct crew {
    const struct ingest *ingest;
    const struct walk *walk;
    const char **named; /* owned: the paths asked for, sorted: looked through for each file */
    struct parts parts;
    struct pipeline pipeline;
    struct slot *slots; /* one a part */
    struct store **store;
    struct writer *writer; /* NULL: nothing is to be written so far */
    size_t concluded;      /* files */
    size_t safe;           /* slots below are committed */
};

static int by_text(const void *a, const void *b)
{
    const char *const *left = a, *const *right = b;
    return strcmp(*left, *right);
}

static int list_named(struct crew *crew)
{
    size_t count = crew->ingest->named_count;
    crew->named = array_new(count, sizeof *crew->named);
    for (size_t i = 0; crew->named && i < count; i++)
        crew->named[i] = crew->ingest->named[i];
    if (crew->named)
        array_sort(crew->named, count, sizeof *crew->named, by_text);
    return crew->named ? 0 : -1;
}

static int is_named(const struct crew *crew, const char *path)
{
    size_t count = crew->ingest->named_count;
    return count && bsearch(&path, crew->named, count, sizeof *crew->named, by_text) != NULL;
}

static void *work(void *context)
{
    struct crew *crew = context;
    struct batch *batch = pipeline_batch(&crew->pipeline);
    long number;
    while ((number = pipeline_take(&crew->pipeline)) >= 0) {
        struct slot *slot = &crew->slots[number];
        const struct part *part = &crew->parts.items[number];
        const struct walk_file *file = &crew->walk->files[part->file];
        struct error error = ERROR_INIT;
        enum message_kind last =
            ingest_file(crew->ingest, &crew->pipeline, (size_t)number, file, part, is_named(crew, file->path),
                        &batch, &slot->result, &slot->facts, &error);
        if (last == MESSAGE_ABANDON)
            pipeline_fail(&crew->pipeline, &error);
        pipeline_send(&crew->pipeline, last, (size_t)number, NULL);
    }
    pipeline_return(&crew->pipeline, batch);
    pipeline_leave(&crew->pipeline);
    return NULL;
}

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return strdup(path);
    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

/* What cannot be read leaves no empty store behind. */
static int need_writer(struct crew *crew, struct error *error)
{
    if (!*crew->store)
        *crew->store = store_open(crew->ingest->store_path, STORE_CREATE, error);
    if (*crew->store && !crew->writer)
        crew->writer = writer_new(*crew->store, error);
    return crew->writer ? 0 : -1;
}

static int begin_part(struct crew *crew, size_t number, struct error *error)
{
    struct slot *slot = &crew->slots[number];
    const struct part *part = &crew->parts.items[number];
    const struct walk_file *file = &crew->walk->files[part->file];
    const char *path = file->realpath;
    if (slot->begun)
        return 0;
    if (need_writer(crew, error))
        return -1;
    char *folder = file->folder ? strdup(file->folder) : folder_of(path);
    int64_t first_ordinal = (int64_t)(part->begin / FORMAT_RECORD_BYTES);
    int outcome = folder ? writer_begin(crew->writer, &slot->target, (int64_t)part->file, first_ordinal, path,
                                        folder, error)
                         : error_no_memory(error);
    free(folder);
    slot->begun = outcome == 0;
    return outcome;
}

/* When a file was last written; 0: it is none, or the time makes no sense. */
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

static int finish_file(struct crew *crew, size_t first, struct error *error)
{
    struct slot *slot = &crew->slots[first];
    const struct writer_facts facts = {
        .dialect = slot->result.dialect,
        .digest = slot->facts.digest,
        .unpacked_digest = *slot->facts.unpacked_digest ? slot->facts.unpacked_digest : NULL,
        .bytes = slot->result.bytes,
        .unpacked_bytes = slot->facts.unpacked_bytes,
        .events = slot->result.events,
        .modified_ns = modified_ns(crew->walk->files[crew->parts.items[first].file].realpath),
        .reader = slot->facts.format->name,
        .reader_version = slot->facts.format->version,
        .ledger = slot->facts.ledger,
        .force = crew->ingest->force,
        .is_open = ledger_find(slot->facts.ledger, FORMAT_NOTE_OPEN) != NULL,
        .has_moved = slot->facts.has_moved || slot->facts.is_read_again,
        .is_snapshot = slot->facts.is_snapshot};
    enum writer_outcome outcome;
    if (begin_part(crew, first, error) || writer_finish(crew->writer, &slot->target, &facts, &outcome, error))
        return -1;
    static const enum file_status statuses[] = {[WRITER_INGESTED] = FILE_INGESTED,
                                                [WRITER_OPEN] = FILE_OPEN,
                                                [WRITER_PARTIAL] = FILE_PARTIAL,
                                                [WRITER_UNCHANGED] = FILE_UNCHANGED};
    slot->result.status = statuses[outcome];
    slot->result.is_read_again = slot->facts.is_read_again && outcome != WRITER_UNCHANGED;
    return 0;
}

/* Takes away what parts of a file have brought; one of those that have speaks for all. */
static int drop_file(struct crew *crew, size_t first, struct error *error)
{
    for (size_t i = first; i < first + crew->parts.items[first].count; i++)
        if (crew->slots[i].begun)
            return writer_abandon(crew->writer, &crew->slots[i].target, error);
    return 0;
}

/* Adds what the other parts found to what the first one did. */
static int add_up(struct crew *crew, size_t first, struct error *error)
{
    struct slot *whole = &crew->slots[first];
    size_t count = crew->parts.items[first].count;
    for (size_t i = first + 1; i < first + count; i++) {
        const struct slot *slot = &crew->slots[i];
        if (whole->result.events == 0)
            memcpy(whole->result.dialect, slot->result.dialect, sizeof whole->result.dialect);
        whole->result.events += slot->result.events;
        whole->result.skipped += slot->result.skipped;
        whole->result.bytes += slot->result.bytes;
        whole->facts.unpacked_bytes += slot->facts.unpacked_bytes;
        if (ledger_add(whole->facts.ledger, slot->facts.ledger, error))
            return -1;
    }
    return count > 1 ? ingest_tell_ledger(whole->facts.ledger, &whole->result, error) : 0;
}

/* The first part tells for the file why one of the others could not be read. */
static void move_failure(struct crew *crew, size_t first)
{
    struct file_result *whole = &crew->slots[first].result;
    for (size_t i = first + 1; i < first + crew->parts.items[first].count; i++) {
        struct file_result *result = &crew->slots[i].result;
        if (crew->slots[i].last != MESSAGE_PASSED || whole->status == FILE_FAILED)
            continue;
        whole->status = FILE_FAILED;
        whole->reason = result->reason;
        result->reason = NULL;
    }
}

/* Whether all parts of a file ended like that. */
static int all_ended(const struct crew *crew, size_t first, int (*like)(enum message_kind last))
{
    for (size_t i = first; i < first + crew->parts.items[first].count; i++)
        if (!like(crew->slots[i].last))
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

/* Nothing of the file is on its way any more. */
static void forget(struct crew *crew, size_t first)
{
    for (size_t i = first; i < first + crew->parts.items[first].count; i++) {
        writer_file_release(&crew->slots[i].target);
        free_ledger(&crew->slots[i]);
        crew->slots[i].begun = 0;
    }
}

/* All parts of a file are through. */
static int conclude(struct crew *crew, size_t first, struct error *error)
{
    int outcome;
    const struct ingest_hooks *hooks = &crew->ingest->hooks;
    if (all_ended(crew, first, is_finished)) {
        outcome = add_up(crew, first, error) || finish_file(crew, first, error);
    } else {
        move_failure(crew, first);
        outcome = drop_file(crew, first, error);
    }
    forget(crew, first);
    crew->concluded++;
    if (outcome == 0 && all_ended(crew, first, is_told))
        hooks->tell(hooks->context, &crew->slots[first].result);
    return outcome ? -1 : 0;
}

/* Files of which parts were never taken, since everything was stopped, must not stay half in. */
static int drop_unfinished(struct crew *crew, struct error *error)
{
    for (size_t i = 0; i < crew->parts.count; i += crew->parts.items[i].count) {
        if (drop_file(crew, i, error))
            return -1;
        forget(crew, i);
    }
    return 0;
}

/* Does what a message asks for, unless the store has failed already. */
static int handle(struct crew *crew, const struct message *message, struct error *error)
{
    struct slot *slot = &crew->slots[message->part];
    size_t first = crew->parts.items[message->part].first;
    if (message->kind == MESSAGE_ROWS)
        return begin_part(crew, message->part, error) ||
                       writer_put(crew->writer, &slot->target, message->batch, error)
                   ? -1
                   : 0;
    slot->last = message->kind;
    return all_ended(crew, first, is_over) ? conclude(crew, first, error) : 0;
}

/* Commits when it is time and no file is half in. */
static int commit_if_due(struct crew *crew, struct error *error)
{
    size_t taken;
    if (!crew->writer || !writer_is_due(crew->writer) || pipeline_close_gate(&crew->pipeline, &taken))
        return 0;
    if (writer_commit(crew->writer, error))
        return -1;
    crew->safe = taken;
    pipeline_open_gate(&crew->pipeline);
    return 0;
}

static int write_all(struct crew *crew, struct error *error)
{
    int outcome = 0;
    const struct ingest_hooks *hooks = &crew->ingest->hooks;
    for (;;) {
        struct message message = pipeline_receive(&crew->pipeline, LOOK_MS);
        hooks->progress(hooks->context, crew->concluded, crew->pipeline.bytes);
        if (message.kind == MESSAGE_END)
            break;
        if (message.kind == MESSAGE_NONE)
            continue;
        if (outcome == 0 && (outcome = handle(crew, &message, error)))
            pipeline_fail(&crew->pipeline, error);
        if (message.batch)
            pipeline_return(&crew->pipeline, message.batch);
        else
            pipeline_done(&crew->pipeline);
        if (outcome == 0 && (outcome = commit_if_due(crew, error)))
            pipeline_fail(&crew->pipeline, error);
    }
    return outcome;
}

/* Ctrl-C is the main thread's affair. */
static int start(struct crew *crew, pthread_t *threads, int jobs, struct error *error)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int started = 0, number = 0;
    while (started < jobs && (number = pthread_create(&threads[started], NULL, work, crew)) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    for (int i = started; i < jobs; i++)
        pipeline_leave(&crew->pipeline);
    if (started == 0)
        error_set_errno(error, number, "cannot start a thread");
    return started;
}

/* Runs the workers and writes what they read. Afterwards everything that was finished is committed, or lost.
 */
static int run_threads(struct crew *crew, int jobs, struct error *error)
{
    pthread_t *threads = array_new((size_t)jobs, sizeof *threads);
    if (!threads)
        return error_no_memory(error);
    int started = start(crew, threads, jobs, error);
    int failed = started == 0 ? -1 : write_all(crew, error);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    if (failed)
        return -1;
    if (drop_unfinished(crew, error) || (crew->writer && writer_commit(crew->writer, error)))
        return -1;
    crew->safe = crew->pipeline.taken;
    if (!crew->pipeline.stopped && !ingest_interrupted(crew->ingest))
        return 0;
    if (crew->pipeline.error.depth)
        *error = crew->pipeline.error;
    else
        error_set(error, "interrupted");
    return -1;
}

static int is_new(enum file_status status)
{
    return status == FILE_INGESTED || status == FILE_OPEN || status == FILE_PARTIAL;
}

/* What is not committed is not in the store. */
static int give_results(struct crew *crew, struct error *error)
{
    const struct ingest_hooks *hooks = &crew->ingest->hooks;
    for (size_t i = 0; i < crew->pipeline.taken; i += crew->parts.items[i].count) {
        struct slot *slot = &crew->slots[i];
        int lost = i >= crew->safe && is_new(slot->result.status);
        if (lost || !all_ended(crew, i, is_told))
            slot->result.status = FILE_FAILED;
        if (hooks->take(hooks->context, &slot->result, error))
            return -1;
    }
    return 0;
}

static void release(struct crew *crew)
{
    for (size_t i = 0; crew->slots && i < crew->parts.count; i++) {
        struct slot *slot = &crew->slots[i];
        free(slot->result.reason);
        free_ledger(slot);
        writer_file_release(&slot->target);
    }
    writer_free(crew->writer);
    free(crew->slots);
    free(crew->named);
    pipeline_release(&crew->pipeline);
    parts_release(&crew->parts);
}

int crew_run(const struct ingest *ingest, const struct walk *walk, struct store **store, int jobs,
             struct error *error)
{
    struct crew crew = {.ingest = ingest, .walk = walk, .store = store};
    int outcome = -1;
    if (list_named(&crew))
        error_no_memory(error);
    else if (parts_plan(&crew.parts, walk, ingest, error) == 0 &&
             pipeline_init(&crew.pipeline, &crew.parts, jobs, error) == 0) {
        crew.slots = array_new(crew.parts.count, sizeof *crew.slots);
        if (!crew.slots)
            error_no_memory(error);
    }
    if (crew.slots) {
        outcome = run_threads(&crew, jobs, error);
        if (give_results(&crew, outcome ? NULL : error))
            outcome = -1;
    }
    release(&crew);
    return outcome;
}

/*
 * Plans a merge: opens the source stores, lists their files, sorts these as one ingest would number them, and
 * drops stale contents and duplicates. merge.c carries the plan out.
 */

#include "base/base.h"
#include "format/format.h"
#include "ingest/ingest.h"
#include "ingest/internal.h"
#include "store/store.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Shorter files have too little content to be compared with others (as in duplicates.c). */
enum { COPY_BYTES = 1024 };

enum {
    MOST_OPEN = 64,     /* stores that stay open until they are read */
    OPENING_THREADS = 3 /* threads that open stores, besides the calling one */
};

/* Each file of a shard is read once, so its pages need no cache; many shards are open at the same time. */
static const char small_cache[] = "PRAGMA cache_size=-256";

char *merge_error_text(const struct error *error)
{
    struct buffer text = BUFFER_INIT;
    int failed = buffer_append_text(&text, "");
    for (int i = error->depth - 1; i >= 0 && !failed; i--)
        failed = buffer_printf(&text, "%s%s", text.length ? ": " : "", error->cause[i]);
    if (!failed)
        return buffer_detach(&text);
    buffer_release(&text);
    return NULL;
}

struct store *merge_source_open(struct merge_source *source, struct error *error)
{
    if (source->store) {
        struct store *open = source->store;
        source->store = NULL;
        return open;
    }
    struct store *store = store_open(source->path, STORE_READ, error);
    if (!store || store_execute(store, small_cache, error) == 0)
        return store;
    store_close(store);
    return NULL;
}

static int read_source(struct merge_source *source, int stays_open, struct error *error)
{
    struct store *store = merge_source_open(source, error);
    int failed = !store || shards_read(&source->shards, store, error) ||
                 stored_files_read(&source->files, store, error);
    if (stays_open && !failed)
        source->store = store;
    else
        store_close(store);
    return failed ? -1 : 0;
}

static int is_same_file(const char *path, const char *other)
{
    struct stat status, other_status;
    return stat(path, &status) == 0 && stat(other, &other_status) == 0 &&
           status.st_dev == other_status.st_dev && status.st_ino == other_status.st_ino;
}

/* A store that cannot be read is not a failure of the merge. */
static int open_source(struct merge_source *source, const char *into, int stays_open, struct error *error)
{
    source->path = realpath(source->given, NULL);
    if (!source->path && !(source->path = strdup(source->given)))
        return error_no_memory(error);
    int failed = is_same_file(source->path, into) ? error_set(error, "it is the output store itself")
                                                  : read_source(source, stays_open, error);
    const struct shard *self = failed ? NULL : shards_self(&source->shards);
    source->node = strdup(self && self->is_of_host ? self->host : "");
    if (!source->node || (failed && error->is_no_memory))
        return error_no_memory(error);
    if (!failed)
        return 0;
    stored_files_release(&source->files);
    source->why_lost = merge_error_text(error);
    error_clear(error);
    return source->why_lost ? 0 : error_no_memory(error);
}

/* Sources opened by several threads; each takes the next one. */
struct looking {
    struct merge_plan *plan;
    const char *into;
    atomic_size_t next;
    atomic_int failed;
};

static void *look_on(void *context)
{
    struct looking *looking = context;
    size_t at;
    while (!looking->failed && (at = atomic_fetch_add(&looking->next, 1)) < looking->plan->source_count) {
        struct error error = ERROR_INIT;
        if (open_source(&looking->plan->sources[at], looking->into, at < MOST_OPEN, &error))
            looking->failed = 1;
    }
    return NULL;
}

/* Opening a store takes about a millisecond, on a shared file system much longer. */
static int open_all_sources(struct looking *looking)
{
    pthread_t threads[OPENING_THREADS];
    int started = 0;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started < OPENING_THREADS && looking->next < looking->plan->source_count &&
           pthread_create(&threads[started], NULL, look_on, looking) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    look_on(looking);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    return looking->failed ? -1 : 0;
}

/* Pipes have no directory: those of one ingest form a file set, which is named by their content. */
static char *set_of_pipe(const struct merge_source *source, const struct stored_file *file)
{
    static const size_t digest_length = 32;
    char *name;
    if (strlen(file->file_set) > digest_length)
        return strdup(file->file_set);
    for (size_t i = 0; i < source->files.count; i++) {
        const struct stored_file *first = &source->files.items[i];
        if (strcmp(first->path, "-") == 0 && strcmp(first->file_set, file->file_set) == 0)
            return asprintf(&name, "-%s", first->digest) < 0 ? NULL : name;
    }
    return strdup(file->file_set);
}

static int add_file(struct merge_plan *plan, size_t source, const struct stored_file *stored)
{
    const struct merge_source *from = &plan->sources[source];
    struct merge_file *file = &plan->files[plan->file_count++];
    *file = (struct merge_file){.source = source, .stored = stored};
    file->path = node_path_of(from->node, stored->path);
    file->file_set = strcmp(stored->path, "-") == 0 ? set_of_pipe(from, stored)
                                                    : node_path_of(from->node, stored->file_set);
    return file->path && file->file_set ? 0 : -1;
}

static int list_files(struct merge_plan *plan)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->source_count; i++)
        count += plan->sources[i].files.count;
    plan->files = array_new(count, sizeof *plan->files);
    if (!plan->files)
        return -1;
    for (size_t i = 0; i < plan->source_count; i++)
        for (size_t j = 0; j < plan->sources[i].files.count; j++)
            if (add_file(plan, i, &plan->sources[i].files.items[j]))
                return -1;
    return 0;
}

/* Orders paths as a walk does: the entries of a directory by name, each followed by everything below it. */
static int compare_paths(const char *left, const char *right)
{
    while (*left && *left == *right)
        left++, right++;
    int a = *left == '/' ? 1 : (unsigned char)*left, b = *right == '/' ? 1 : (unsigned char)*right;
    return a - b;
}

static int by_age(const struct merge_file *left, const struct merge_file *right)
{
    if (left->stored->modified_ns != right->stored->modified_ns)
        return left->stored->modified_ns < right->stored->modified_ns ? -1 : 1;
    if (left->source != right->source)
        return left->source < right->source ? -1 : 1;
    return (left->stored->id > right->stored->id) - (left->stored->id < right->stored->id);
}

static int by_path(const void *a, const void *b)
{
    const struct merge_file *left = a, *right = b;
    int order = left->is_copy - right->is_copy;
    if (!order)
        order = compare_paths(left->path, right->path);
    return order ? order : by_age(left, right);
}

int merge_is_snapshot(const char *dialect)
{
    for (const struct format *const *format = format_registry; *format; format++)
        if ((*format)->is_snapshot && strncmp(dialect, (*format)->name, strlen((*format)->name)) == 0)
            return 1;
    return 0;
}

/* Whether another shard has a later content of the same path; the newest one is used. */
static int is_stale(const struct merge_file *file, const struct merge_file *next)
{
    return strcmp(file->path, "-") != 0 && strcmp(file->path, next->path) == 0 &&
           strcmp(file->stored->digest, next->stored->digest) != 0 &&
           !merge_is_snapshot(file->stored->dialect);
}

/* Files must be sorted by path, those of one path by age. */
static void drop_stale(struct merge_plan *plan)
{
    size_t kept = 0;
    for (size_t i = 0; i < plan->file_count; i++) {
        if (i + 1 < plan->file_count && is_stale(&plan->files[i], &plan->files[i + 1])) {
            free(plan->files[i].path);
            free(plan->files[i].file_set);
        } else {
            plan->files[kept++] = plan->files[i];
        }
    }
    plan->stale_count = plan->file_count - kept;
    plan->file_count = kept;
}

static const char *content_of(const struct merge_file *file)
{
    return file->stored->unpacked_digest ? file->stored->unpacked_digest : file->stored->digest;
}

/* Of two equal files the original is the one at the lesser depth. */
static int by_content(const void *a, const void *b)
{
    const struct merge_file *left = *(struct merge_file *const *)a, *right = *(struct merge_file *const *)b;
    int order = strcmp(content_of(left), content_of(right));
    order = order ? order : compare_depths(left->path, right->path);
    order = order ? order : compare_paths(left->path, right->path);
    return order ? order : by_age(left, right);
}

/* Inspector logs are not compared. */
static int may_be_copy(const struct merge_file *file)
{
    static const char inspector[] = "inspector";
    return file->stored->unpacked_bytes >= COPY_BYTES &&
           strncmp(file->stored->dialect, inspector, sizeof inspector - 1) != 0;
}

static int mark_copies(struct merge_plan *plan)
{
    struct merge_file **files = array_new(plan->file_count, sizeof *files);
    size_t count = 0;
    if (!files)
        return -1;
    for (size_t i = 0; i < plan->file_count; i++)
        if (may_be_copy(&plan->files[i]))
            files[count++] = &plan->files[i];
    array_sort(files, count, sizeof *files, by_content);
    for (size_t i = 1; i < count; i++)
        files[i]->is_copy = strcmp(content_of(files[i - 1]), content_of(files[i])) == 0;
    free(files);
    return 0;
}

static int put_in_order(struct merge_plan *plan)
{
    array_sort(plan->files, plan->file_count, sizeof *plan->files, by_path);
    drop_stale(plan);
    if (mark_copies(plan))
        return -1;
    array_sort(plan->files, plan->file_count, sizeof *plan->files, by_path);
    return 0;
}

int merge_plan_make(struct merge_plan *plan, char *const *paths, size_t count, const char *into,
                    struct error *error)
{
    *plan = (struct merge_plan){.sources = array_new(count, sizeof *plan->sources)};
    if (!plan->sources)
        return error_no_memory(error);
    for (; plan->source_count < count; plan->source_count++)
        plan->sources[plan->source_count].given = paths[plan->source_count];
    /* Open one store first: it sets up what all threads of the process share (lib/store/store.c). */
    struct looking looking = {.plan = plan, .into = into};
    while (looking.next < count && (looking.next == 0 || !plan->sources[looking.next - 1].store))
        if (open_source(&plan->sources[looking.next++], into, 1, error))
            return -1;
    if (open_all_sources(&looking))
        return error_no_memory(error);
    return list_files(plan) || put_in_order(plan) ? error_no_memory(error) : 0;
}

void merge_plan_release(struct merge_plan *plan)
{
    for (size_t i = 0; i < plan->file_count; i++) {
        free(plan->files[i].path);
        free(plan->files[i].file_set);
    }
    for (size_t i = 0; i < plan->source_count; i++) {
        struct merge_source *source = &plan->sources[i];
        free(source->path);
        free(source->node);
        free(source->why_lost);
        free(source->why_damaged);
        store_close(source->store);
        shards_release(&source->shards);
        stored_files_release(&source->files);
    }
    free(plan->files);
    free(plan->sources);
    *plan = (struct merge_plan){.sources = NULL};
}

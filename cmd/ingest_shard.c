#include "cmd/ingest_shard.h"

#include "base/buffer.h"
#include "cmd/cmd.h"
#include "cmd/ingest_report.h"
#include "cmd/task.h"
#include "input/walk.h"
#include "store/shard.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

/* The store's path is borrowed from it until the program ends. */
static char *name_of_store;

int ingest_shard_name(struct context *context, const struct task *task, int is_range)
{
    const char *unnamed = is_range ? "ncclprof-%t.db" : "ncclprof-%h.db";
    const char *pattern = context->is_default_store ? unnamed : context->store_path;
    free(name_of_store);
    name_of_store = task_name(task, pattern, &context->error);
    if (!name_of_store)
        return context->error.is_no_memory ? EXIT_NOT_DONE : EXIT_USAGE;
    context->store_path = name_of_store;
    return EXIT_DONE;
}

static int write_state(struct context *context, const struct task *task, int is_range, enum shard_state state,
                       char *reason)
{
    char none[] = "", job[sizeof task->job], host[sizeof task->host];
    memcpy(job, task->job, sizeof job);
    memcpy(host, task->host, sizeof host);
    const struct shard shard = {.job = job,
                                .number = task->number,
                                .count = task->count,
                                .host = host,
                                .is_of_host = !is_range,
                                .path = none,
                                .state = state,
                                .reason = reason};
    struct store *store = context->store;
    if (store_begin(store, &context->error) == 0 && shard_write_self(store, &shard, &context->error) == 0 &&
        store_commit(store, &context->error) == 0)
        return EXIT_DONE;
    store_rollback(store);
    return EXIT_NOT_DONE;
}

/* Files that lie on one host have nothing to do with those of the same names on another. */
static int is_anothers(const struct shard *self, const struct task *task, int is_range)
{
    if (self->is_of_host == is_range)
        return 1;
    return is_range ? self->number != task->number || self->count != task->count
                    : strcmp(self->host, task->host) != 0;
}

static int check_store(struct context *context, const struct task *task, int is_range)
{
    struct shards shards;
    int64_t joined;
    if (shards_read(&shards, context->store, &context->error))
        return -1;
    const struct shard *self = shards_self(&shards);
    int failed = 0;
    if (self && is_anothers(self, task, is_range))
        failed = error_set(&context->error,
                           "%s is the shard of %s %s (%lld/%lld); choose another file with --store",
                           context->store_path, self->is_of_host ? "node" : "a task on", self->host,
                           (long long)self->number, (long long)self->count);
    else if (!self && shards.count)
        failed =
            error_set(&context->error,
                      "%s was merged from shards and is not a shard itself; choose another file with --store",
                      context->store_path);
    else if (!self && store_fact(context->store, "joined", -1, &joined, &context->error))
        failed = -1;
    else if (!self && joined >= 0)
        failed = error_set(&context->error, "%s is a store, not a shard; choose another file with --store",
                           context->store_path);
    shards_release(&shards);
    return failed;
}

int ingest_shard_begin(struct context *context, const struct task *task, int is_range)
{
    static char not_ended[] = "its ingest did not finish; run the ingest again, then merge again";
    if (!context->store)
        context->store = store_open(context->store_path, STORE_CREATE, &context->error);
    if (!context->store || check_store(context, task, is_range))
        return EXIT_NOT_DONE;
    return write_state(context, task, is_range, SHARD_UNFINISHED, not_ended);
}

/* What is not in the shard though it was asked for; NULL: nothing, or memory is out. */
static char *tell_lacking(const struct walk *walk, const struct report *report)
{
    struct buffer reason = BUFFER_INIT;
    size_t count = walk->loss_count;
    const char *first = walk->loss_count ? walk->losses[0] : NULL;
    for (size_t i = 0; i < report->count; i++)
        if (report->results[i].status == FILE_FAILED) {
            count++;
            first = first ? first : report->results[i].path;
        }
    if (count && buffer_printf(&reason, "%zu of its files could not be read, first: %s", count, first))
        buffer_release(&reason);
    return buffer_detach(&reason);
}

int ingest_shard_end(struct context *context, const struct task *task, int is_range, const struct walk *walk,
                     const struct report *report)
{
    char *lacking = tell_lacking(walk, report);
    int status = write_state(context, task, is_range, lacking ? SHARD_LACKING : SHARD_WHOLE, lacking);
    free(lacking);
    return status;
}

int ingest_refuse_shard(struct context *context)
{
    int is_shard = context->store ? store_is_shard(context->store, &context->error) : 0;
    if (is_shard > 0)
        error_set(
            &context->error,
            "%s is a shard; add files to it with ncclprof ingest --shard, combine shards with ncclprof merge",
            context->store_path);
    return is_shard ? EXIT_NOT_DONE : EXIT_DONE;
}

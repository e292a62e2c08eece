#include "cmd/temporary_store.h"

#include "cmd/cmd.h"
#include "cmd/ingest_listener.h"
#include "cmd/ingest_paths.h"
#include "cmd/ingest_report.h"
#include "cmd/interrupt.h"
#include "ingest/merge.h"
#include "input/walk.h"
#include "join/join.h"
#include "store/store.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One a process, for one store after the other: main opens them before the command runs and closes them at
 * the end. SQLite's own temporary files go into the directory meanwhile. */
static struct {
    char directory[PATH_MAX];
    char path[PATH_MAX + 16];
    char journal[PATH_MAX + 32];
} temporary;

int temporary_store_spare(struct context *context, char *const *paths, size_t count)
{
    struct walk walk;
    struct report report = {.results = NULL};
    const struct ingest_wishes wishes = {.paths = paths,
                                         .path_count = count,
                                         .jobs = context->jobs,
                                         .limits = {.unpack_ratio = INPUT_RATIO_MOST}};
    walk_init(&walk);
    int status = ingest_paths(context, &wishes, &walk, &report, &context->lacks_traces);
    report_release(&report);
    walk_release(&walk);
    if (status == EXIT_DONE && !context->store) {
        error_set(&context->error, "no traces found in the given paths");
        status = EXIT_NOT_DONE;
    }
    return status;
}

/* The store's name below a directory that nobody else can look into; 0 with `directory` filled in. */
static int make_directory(char *directory, size_t bytes, struct error *error)
{
    const char *parent = getenv("TMPDIR");
    int length = snprintf(directory, bytes, "%s/ncclprof-XXXXXX", parent && *parent ? parent : "/tmp");
    if (length < 0 || (size_t)length >= bytes)
        return error_set(error, "the path in $TMPDIR is too long");
    if (!mkdtemp(directory))
        return error_set(error, "cannot create directory %s: %s", directory, strerror(errno));
    return 0;
}

/* The store that is open keeps its content until it is closed; nothing is left where the process is killed.
 */
static void remove_files(const char *path)
{
    static const char *const endings[] = {"", "-journal", "-wal", "-shm"};
    char name[sizeof temporary.path + 16];
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        snprintf(name, sizeof name, "%s%s", path, endings[i]);
        unlink(name);
    }
}

int temporary_store_place(struct context *context)
{
    if (!*temporary.directory &&
        make_directory(temporary.directory, sizeof temporary.directory, &context->error)) {
        *temporary.directory = '\0';
        return EXIT_NOT_DONE;
    }
    snprintf(temporary.path, sizeof temporary.path, "%s/store.db", temporary.directory);
    snprintf(temporary.journal, sizeof temporary.journal, "%s-journal", temporary.path);
    interrupt_removes(temporary.directory, temporary.path, temporary.journal);
    context->store_path = temporary.path;
    return EXIT_DONE;
}

int temporary_store_open(struct context *context, char *const *paths, size_t count)
{
    int status = temporary_store_place(context);
    if (status == EXIT_DONE)
        status = temporary_store_spare(context, paths, count);
    if (*temporary.path)
        remove_files(temporary.path);
    return status;
}

static int merge_one(struct context *context, char *shard)
{
    struct report report = {.results = NULL};
    struct ingest_listener listener = {.report = &report};
    struct merge merge = {.hooks = ingest_listener_hooks(&listener)};
    char *const shards[] = {shard};
    progress_begin(&listener.progress, 1, 0, 0);
    int failed = merge_plan_make(&merge.plan, shards, 1, temporary.path, &context->error) ||
                 merge_run(&merge, &context->store, temporary.path, &context->error) ||
                 join_store(context->store, (size_t)context->jobs, &context->error);
    report_release(&report);
    merge_plan_release(&merge.plan);
    return failed ? -1 : 0;
}

int temporary_store_of_shard(struct context *context)
{
    char *shard = strdup(context->store_path);
    store_close(context->store);
    context->store = NULL;
    int failed = !shard ? error_no_memory(&context->error)
                        : temporary_store_place(context) != EXIT_DONE || merge_one(context, shard);
    if (*temporary.path)
        remove_files(temporary.path);
    free(shard);
    return failed ? -1 : 0;
}

void temporary_store_close(void)
{
    if (!*temporary.directory)
        return;
    remove_files(temporary.path);
    rmdir(temporary.directory);
}

/*
 * Ingests the files below some paths: finds them, chooses which to read, runs the reader threads of
 * lib/ingest, and collects the results.
 */
#include "base/base.h"
#include "cmd/internal.h"
#include "ingest/ingest.h"
#include "input/input.h"
#include "join/join.h"
#include "store/store.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void show_progress(void *context, size_t files, uint64_t bytes)
{
    struct ingest_listener *listener = context;
    listener->progress.files = files;
    listener->progress.bytes = bytes;
    progress_show(&listener->progress);
}

static void tell_file(void *context, const struct file_result *result)
{
    struct ingest_listener *listener = context;
    progress_clear(&listener->progress);
    if (!listener->is_silent)
        report_print_problem(result);
}

static int take_result(void *context, struct file_result *result, struct error *error)
{
    struct ingest_listener *listener = context;
    return report_add(listener->report, result, error);
}

struct ingest_hooks ingest_listener_hooks(struct ingest_listener *listener)
{
    return (struct ingest_hooks){.context = listener,
                                 .interrupted = interrupt_wanted,
                                 .progress = show_progress,
                                 .tell = tell_file,
                                 .take = take_result};
}

/* A path that cannot be examined becomes a failed file. The others are read. */
static int find_files(const struct ingest_request *wishes, struct walk *walk, struct report *report,
                      struct error *error)
{
    for (size_t i = 0; i < wishes->path_count; i++) {
        const char *path = wishes->paths[i];
        if (walk_add(walk, path, error) == 0)
            continue;
        if (error->is_no_memory || report_add_failed(report, path, i, error))
            return -1;
        if (!wishes->is_silent)
            report_print_problem(&report->results[report->count - 1]);
    }
    return 0;
}

int ingest_processors(void)
{
    cpu_set_t processors;
    return sched_getaffinity(0, sizeof processors, &processors) ? 1 : CPU_COUNT(&processors);
}

static uint64_t total_bytes(const struct walk *walk)
{
    uint64_t total = 0;
    struct stat status;
    for (size_t i = 0; i < walk->count; i++)
        if (stat(walk->files[i].path, &status) == 0 && S_ISREG(status.st_mode))
            total += (uint64_t)status.st_size;
    return total;
}

/* State while the writer and the workers run. */
static int ingest_files(struct context *context, const struct ingest_request *wishes,
                        const struct known *known, const struct walk *walk, struct report *report)
{
    struct stat status;
    struct ingest_listener listener = {.report = report, .is_silent = wishes->is_silent};
    struct ingest ingest = {
        .known = known,
        .limits = wishes->limits,
        .store_path = context->store_path,
        .named = wishes->paths,
        .named_count = wishes->path_count,
        .force = wishes->force,
        .follower = wishes->follower,
        .hooks = ingest_listener_hooks(&listener),
    };
    if (stat(context->store_path, &status) == 0) {
        ingest.store_device = status.st_dev;
        ingest.store_inode = status.st_ino;
    }
    progress_begin(&listener.progress, context->quiet || wishes->is_silent, walk->count, total_bytes(walk));
    int outcome = ingest_run_threads(&ingest, walk, &context->store, wishes->jobs, &context->error);
    progress_clear(&listener.progress);
    report->seconds = progress_seconds(&listener.progress);
    interrupt_at_once();
    return outcome;
}

static int tell_interruption(const struct ingest_request *wishes)
{
    if (!wishes->is_silent)
        print_line("interrupted; completed files are in the store. Run the same command again to continue.");
    return EXIT_INTERRUPTED;
}

static int ingest_into_store(struct context *context, const struct ingest_request *wishes,
                             const struct known *known, const struct walk *walk, struct report *report)
{
    int outcome = ingest_files(context, wishes, known, walk, report);
    if (outcome && interrupt_wanted(NULL))
        return tell_interruption(wishes);
    if (outcome == 0 && walk->count && context->store && !wishes->is_shard)
        outcome = join_store(context->store, (size_t)wishes->jobs, &context->error);
    return outcome ? EXIT_NOT_DONE : EXIT_DONE;
}

/* Removes an entry that another file duplicates. */
static int drop_entry(struct context *context, const struct ingest_request *wishes, const struct known *known,
                      struct walk *walk, size_t *twins, size_t *copies)
{
    struct input_limits limits = wishes->limits;
    limits.stopped = interrupt_wanted;
    return drop_second_formats(walk, known, twins, &context->error) ||
                   drop_prefix_files(walk, &limits, (size_t)wishes->jobs, copies, &context->error)
               ? -1
               : 0;
}

/* Reports what the walk skipped. */
static void print_skipped_entries(const struct context *context, const struct walk *walk)
{
    if (!context->quiet)
        for (size_t i = 0; i < walk->note_count; i++)
            print_line("%s", walk->notes[i]);
    for (size_t i = 0; i < walk->loss_count; i++)
        print_line("%s", walk->losses[i]);
}

static void tell_all(const struct context *context, const struct ingest_request *wishes,
                     const struct walk *walk, size_t twins, size_t copies, const struct report *report)
{
    if (wishes->is_silent)
        return;
    if (twins && !context->quiet)
        print_line(
            "%zu files skipped: files of the same name in another format contain the same data and more",
            twins);
    if (copies && !context->quiet)
        print_line("%zu file%s skipped: identical to the beginning of another file", copies,
                   copies == 1 ? "" : "s");
    print_skipped_entries(context, walk);
    if (!context->quiet)
        report_print_read_again(report);
    report_print_remarks(report);
    report_print_newer(report);
}

/* Finds the files and selects some of them. */
static int choose_files(const struct ingest_request *wishes, struct walk *walk, struct report *report,
                        struct error *error)
{
    return find_files(wishes, walk, report, error) ||
                   (wishes->choose && wishes->choose(wishes->context, walk, error))
               ? -1
               : 0;
}

int ingest_paths(struct context *context, const struct ingest_request *wishes, struct walk *walk,
                 struct report *report, int *is_lacking)
{
    struct known known = {.files = NULL};
    size_t twins = 0, copies = 0;
    int status = EXIT_NOT_DONE;
    int failed = choose_files(wishes, walk, report, &context->error);
    if (!failed && wishes->choose && !walk->count) {
        *is_lacking = walk->loss_count || report_has_trouble(report);
        return EXIT_DONE;
    }
    if (!failed && (!context->store || known_read(&known, context->store, &context->error) == 0)) {
        interrupt_watch();
        int left_out = drop_entry(context, wishes, &known, walk, &twins, &copies);
        if (left_out == 0 && wishes->share_count)
            partition_take(walk, wishes->share_number, wishes->share_count);
        if (left_out == 0)
            status = ingest_into_store(context, wishes, &known, walk, report);
        else if (interrupt_wanted(NULL))
            status = tell_interruption(wishes);
        known_release(&known);
    }
    tell_all(context, wishes, walk, twins, copies, report);
    *is_lacking =
        walk->loss_count || report_has_trouble(report) ||
        (status == EXIT_DONE && !wishes->is_silent && report_print_empty(report, walk, wishes->paths));
    return status;
}

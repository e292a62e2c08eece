#include "cmd/ingest_paths.h"

#include "cmd/cmd.h"
#include "cmd/ingest_listener.h"
#include "cmd/ingest_report.h"
#include "cmd/interrupt.h"
#include "cmd/print.h"
#include "ingest/copies.h"
#include "ingest/crew.h"
#include "ingest/share.h"
#include "ingest/twins.h"
#include "input/walk.h"
#include "join/join.h"
#include "store/known.h"

#include <sched.h>
#include <sys/stat.h>

/* Paths that cannot be looked at become failed files; the others still go in. */
static int find_files(const struct ingest_wishes *wishes, struct walk *walk, struct report *report,
                      struct error *error)
{
    for (size_t i = 0; i < wishes->path_count; i++) {
        const char *path = wishes->paths[i];
        if (walk_add(walk, path, error) == 0)
            continue;
        if (error->is_no_memory || report_add_failed(report, path, i, error))
            return -1;
        if (!wishes->is_silent)
            report_tell(&report->results[report->count - 1]);
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

/* Where things are while the writer and the workers run. */
static int ingest_files(struct context *context, const struct ingest_wishes *wishes,
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
        .hooks = ingest_listener_hooks(&listener),
    };
    if (stat(context->store_path, &status) == 0) {
        ingest.store_device = status.st_dev;
        ingest.store_inode = status.st_ino;
    }
    progress_begin(&listener.progress, context->quiet || wishes->is_silent, walk->count, total_bytes(walk));
    int outcome = crew_run(&ingest, walk, &context->store, wishes->jobs, &context->error);
    progress_clear(&listener.progress);
    report->seconds = progress_seconds(&listener.progress);
    interrupt_at_once();
    return outcome;
}

static int tell_interruption(const struct ingest_wishes *wishes)
{
    if (!wishes->is_silent)
        print_line("interrupted; completed files are in the store. Run the same command again to continue.");
    return EXIT_INTERRUPTED;
}

static int ingest_into_store(struct context *context, const struct ingest_wishes *wishes,
                             const struct known *known, const struct walk *walk, struct report *report)
{
    int outcome = ingest_files(context, wishes, known, walk, report);
    if (outcome && interrupt_wanted(NULL))
        return tell_interruption(wishes);
    if (outcome == 0 && walk->count && context->store && !wishes->is_shard)
        outcome = join_store(context->store, (size_t)wishes->jobs, &context->error);
    return outcome ? EXIT_NOT_DONE : EXIT_DONE;
}

/* What is none to bring in, as another file says the same. */
static int leave_out(struct context *context, const struct ingest_wishes *wishes, const struct known *known,
                     struct walk *walk, size_t *twins, size_t *copies)
{
    struct input_limits limits = wishes->limits;
    limits.stopped = interrupt_wanted;
    return twins_leave_out(walk, known, twins, &context->error) ||
                   copies_leave_out(walk, &limits, copies, &context->error)
               ? -1
               : 0;
}

/* What the walk passed by. */
static void tell_walk(const struct context *context, const struct walk *walk)
{
    if (!context->quiet)
        for (size_t i = 0; i < walk->note_count; i++)
            print_line("%s", walk->notes[i]);
    for (size_t i = 0; i < walk->loss_count; i++)
        print_line("%s", walk->losses[i]);
}

static void tell_all(const struct context *context, const struct ingest_wishes *wishes,
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
    tell_walk(context, walk);
    if (!context->quiet)
        report_tell_read_again(report);
    report_tell_remarks(report);
    report_tell_newer(report);
}

/* Finds the files, and chooses of them. */
static int choose_files(const struct ingest_wishes *wishes, struct walk *walk, struct report *report,
                        struct error *error)
{
    return find_files(wishes, walk, report, error) ||
                   (wishes->choose && wishes->choose(wishes->context, walk, error))
               ? -1
               : 0;
}

int ingest_paths(struct context *context, const struct ingest_wishes *wishes, struct walk *walk,
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
        int left_out = leave_out(context, wishes, &known, walk, &twins, &copies);
        if (left_out == 0 && wishes->share_count)
            share_take(walk, wishes->share_number, wishes->share_count);
        if (left_out == 0)
            status = ingest_into_store(context, wishes, &known, walk, report);
        else if (interrupt_wanted(NULL))
            status = tell_interruption(wishes);
        known_release(&known);
    }
    tell_all(context, wishes, walk, twins, copies, report);
    *is_lacking =
        walk->loss_count || report_has_trouble(report) ||
        (status == EXIT_DONE && !wishes->is_silent && report_tell_empty(report, walk, wishes->paths));
    return status;
}

#include "cmd/commands.h"
#include "cmd/ingest_report.h"
#include "cmd/interrupt.h"
#include "cmd/opt.h"
#include "cmd/print.h"
#include "cmd/progress.h"
#include "ingest/copies.h"
#include "ingest/crew.h"
#include "ingest/twins.h"
#include "input/walk.h"
#include "join/join.h"
#include "store/known.h"

#include <sched.h>
#include <sys/stat.h>

enum { OPTION_JOBS, OPTION_FORCE, OPTION_RATIO, OPTION_UNPACKED, OPTIONS };

static const struct option options[OPTIONS] = {
    [OPTION_JOBS] = {.name = "jobs",
                     .letter = 'j',
                     .argument = "N",
                     .help = "read so many files, and join so many ranks, at once (default: as many "
                             "as there are processors)",
                     .is_number = 1,
                     .least = 1,
                     .most = 256},
    [OPTION_FORCE] = {.name = "force",
                      .letter = 'f',
                      .help = "read a file again though the store already holds the same content"},
    [OPTION_RATIO] = {.name = "max-ratio",
                      .argument = "N",
                      .help = "stop reading a gzip file that grows by more than N times; 0: no bound",
                      .fallback = "500",
                      .is_number = 1,
                      .least = 0,
                      .most = 1000000},
    [OPTION_UNPACKED] = {.name = "max-unpacked",
                         .argument = "MIB",
                         .help = "stop reading a gzip file after so many MiB; 0: no bound",
                         .fallback = "0",
                         .is_number = 1,
                         .least = 0,
                         .most = INT64_C(1) << 40},
};

/* Paths that cannot be looked at become failed files; the others still go in. */
static int find_files(const struct arguments *arguments, struct walk *walk, struct report *report,
                      struct error *error)
{
    for (size_t i = 0; i < arguments->operand_count; i++) {
        const char *path = arguments->operands[i];
        if (walk_add(walk, path, error) == 0)
            continue;
        if (error->is_no_memory || report_add_failed(report, path, i, error))
            return -1;
    }
    return 0;
}

/* As many as there are processors that may be used, unless told. */
static int jobs_wanted(const struct arguments *arguments)
{
    if (arguments->values[OPTION_JOBS])
        return (int)arguments_number(arguments, OPTION_JOBS);
    cpu_set_t processors;
    return sched_getaffinity(0, sizeof processors, &processors) ? 1 : CPU_COUNT(&processors);
}

/* Where the library's news go. */
struct listener {
    struct report *report;
    struct progress progress;
};

static void show_progress(void *context, size_t files, uint64_t bytes)
{
    struct listener *listener = context;
    listener->progress.files = files;
    listener->progress.bytes = bytes;
    progress_show(&listener->progress);
}

static void tell_file(void *context, const struct file_result *result)
{
    struct listener *listener = context;
    progress_clear(&listener->progress);
    report_tell(result);
}

static int take_result(void *context, struct file_result *result, struct error *error)
{
    struct listener *listener = context;
    return report_add(listener->report, result, error);
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
static int ingest_files(struct context *context, const struct arguments *arguments, const struct known *known,
                        const struct walk *walk, struct report *report)
{
    struct stat status;
    struct listener listener = {.report = report};
    struct ingest ingest = {
        .known = known,
        .limits = {.unpacked_bytes = (uint64_t)arguments_number(arguments, OPTION_UNPACKED) << 20,
                   .unpack_ratio = (uint64_t)arguments_number(arguments, OPTION_RATIO)},
        .store_path = context->store_path,
        .named = arguments->operands,
        .named_count = arguments->operand_count,
        .force = arguments->values[OPTION_FORCE] != NULL,
        .hooks = {.context = &listener,
                  .interrupted = interrupt_wanted,
                  .progress = show_progress,
                  .tell = tell_file,
                  .take = take_result},
    };
    if (stat(context->store_path, &status) == 0) {
        ingest.store_device = status.st_dev;
        ingest.store_inode = status.st_ino;
    }
    interrupt_watch();
    progress_begin(&listener.progress, context->quiet, walk->count, total_bytes(walk));
    int outcome = crew_run(&ingest, walk, &context->store, jobs_wanted(arguments), &context->error);
    progress_clear(&listener.progress);
    report->seconds = progress_seconds(&listener.progress);
    interrupt_at_once();
    return outcome;
}

static int ingest_into_store(struct context *context, const struct arguments *arguments,
                             const struct known *known, const struct walk *walk, struct report *report)
{
    int outcome = ingest_files(context, arguments, known, walk, report);
    if (outcome && interrupt_wanted(NULL)) {
        print_line(
            "interrupted; files that were finished are in the store, the same command brings in the rest");
        return EXIT_INTERRUPTED;
    }
    if (outcome == 0 && walk->count && context->store)
        outcome = join_store(context->store, (size_t)jobs_wanted(arguments), &context->error);
    return outcome ? EXIT_NOT_DONE : EXIT_DONE;
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

static int run(struct context *context, const struct arguments *arguments)
{
    struct walk walk;
    struct known known = {.files = NULL};
    struct report report = {.results = NULL};
    size_t twins = 0, copies = 0;
    walk_init(&walk);
    int status = EXIT_NOT_DONE;
    if (find_files(arguments, &walk, &report, &context->error) == 0 &&
        (!context->store || known_read(&known, context->store, &context->error) == 0)) {
        if (twins_leave_out(&walk, &known, &twins, &context->error) == 0 &&
            copies_leave_out(&walk, &copies, &context->error) == 0)
            status = ingest_into_store(context, arguments, &known, &walk, &report);
        known_release(&known);
    }
    if (twins && !context->quiet)
        print_line(
            "%zu files of Inspector lines left out: the Chrome traces beside them tell of the same "
            "operations",
            twins);
    if (copies && !context->quiet)
        print_line("%zu file%s left out: copies of the beginnings of others", copies, copies == 1 ? "" : "s");
    tell_walk(context, &walk);
    report_tell_remarks(&report);
    report_tell_newer(&report);
    int is_lacking = walk.loss_count || report_has_trouble(&report);
    if (status == EXIT_DONE && report_tell_empty(&report, &walk, arguments->operands))
        is_lacking = 1;
    int shown = report_show(context, arguments, &report);
    if (status == EXIT_DONE)
        status = shown;
    if (status == EXIT_DONE && is_lacking)
        status = EXIT_NOT_DONE;
    report_release(&report);
    walk_release(&walk);
    return status;
}

static const struct option_table table = {
    .operands = "PATH...",
    .description =
        "Paths are files, directories (searched through) or - for standard input, in any mix of "
        "formats, gzip or not; what a file is shows from its content. A file goes in whole, and "
        "once: the same content again, gzip or not, is unchanged, new content under the same path takes the "
        "place "
        "of the old.",
    .options = options,
    .count = OPTIONS,
    .operands_least = 1,
    .operands_most = (size_t)-1,
    .has_format = 1,
};

const struct command command_ingest = {
    .name = "ingest",
    .summary = "bring trace files into the store",
    .needs = NEEDS_STORE_IF_ANY,
    .options = &table,
    .run = run,
};

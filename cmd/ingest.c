#include "base/array.h"
#include "cmd/commands.h"
#include "cmd/ingest_file.h"
#include "cmd/ingest_report.h"
#include "cmd/interrupt.h"
#include "cmd/opt.h"
#include "cmd/print.h"
#include "input/walk.h"
#include "join/join.h"
#include "store/store.h"
#include "store/writer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { OPTION_FORCE, OPTION_RATIO, OPTION_UNPACKED, OPTIONS };

static const struct option options[OPTIONS] = {
    [OPTION_FORCE] = {.name = "force",
                      .letter = 'f',
                      .help = "read a file again though the store already holds the same content"},
    [OPTION_RATIO] = {.name = "max-ratio",
                      .argument = "N",
                      .help = "stop reading a gzip file that grows by more than N times; 0: no bound "
                              "(default: 500)",
                      .fallback = "500",
                      .is_number = 1,
                      .least = 0,
                      .most = 1000000},
    [OPTION_UNPACKED] = {.name = "max-unpacked",
                         .argument = "MIB",
                         .help = "stop reading a gzip file after so many MiB; 0: no bound (default: 0)",
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
        if (report_add_failed(report, path, error))
            return -1;
    }
    return 0;
}

static int is_named(const struct arguments *arguments, const char *path)
{
    for (size_t i = 0; i < arguments->operand_count; i++)
        if (strcmp(arguments->operands[i], path) == 0)
            return 1;
    return 0;
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

static int read_files(struct ingest *ingest, const struct arguments *arguments, const struct walk *walk,
                      struct report *report, struct error *error)
{
    for (size_t i = 0; i < walk->count; i++) {
        if (interrupt_wanted(NULL))
            return error_set(error, "interrupted");
        struct file_result *result = report_add(report, error);
        if (!result)
            return -1;
        int outcome =
            ingest_file(ingest, &walk->files[i], is_named(arguments, walk->files[i].path), result, error);
        if (outcome)
            return -1;
        progress_clear(&ingest->progress);
        report_tell(result);
        if (writer_is_settled(ingest->writer))
            report->safe = report->count;
    }
    return 0;
}

/* Reads all files, commits, joins. The report knows afterwards what is in the store. */
static int ingest_all(struct context *context, struct ingest *ingest, const struct arguments *arguments,
                      const struct walk *walk, struct report *report)
{
    struct stat status;
    if (stat(context->store_path, &status) == 0) {
        ingest->store_device = status.st_dev;
        ingest->store_inode = status.st_ino;
    }
    progress_begin(&ingest->progress, context->quiet, walk->count, total_bytes(walk));
    int outcome = read_files(ingest, arguments, walk, report, &context->error);
    if (outcome && interrupt_wanted(NULL) && !writer_failed(ingest->writer)) {
        /* What was finished before the interruption stays. */
        struct error ignored;
        writer_abandon(ingest->writer, &ignored);
    }
    struct error *commit_error = outcome ? NULL : &context->error;
    if (!writer_failed(ingest->writer) && writer_commit(ingest->writer, commit_error) == 0)
        report->safe = report->count;
    else
        outcome = -1;
    progress_clear(&ingest->progress);
    report->seconds = progress_seconds(&ingest->progress);
    return outcome;
}

static int ingest_into_store(struct context *context, const struct arguments *arguments,
                             const struct walk *walk, struct report *report)
{
    struct ingest ingest = {
        .limits = {.unpacked_bytes = (uint64_t)arguments_number(arguments, OPTION_UNPACKED) << 20,
                   .unpack_ratio = (uint64_t)arguments_number(arguments, OPTION_RATIO)},
        .force = arguments->values[OPTION_FORCE] != NULL,
    };
    ingest.writer = writer_new(context->store, &context->error);
    if (!ingest.writer)
        return EXIT_NOT_DONE;
    interrupt_watch();
    int outcome = ingest_all(context, &ingest, arguments, walk, report);
    interrupt_restore();
    writer_free(ingest.writer);
    if (outcome)
        report_lose(report);
    if (outcome && interrupt_wanted(NULL))
        return EXIT_INTERRUPTED;
    if (outcome == 0 && report->safe)
        outcome = join_store(context->store, &context->error);
    return outcome ? EXIT_NOT_DONE : EXIT_DONE;
}

static int run(struct context *context, const struct arguments *arguments)
{
    struct walk walk;
    struct report report = {.results = NULL};
    walk_init(&walk);
    int status = EXIT_NOT_DONE;
    if (find_files(arguments, &walk, &report, &context->error) == 0)
        status = ingest_into_store(context, arguments, &walk, &report);
    if (!context->quiet)
        for (size_t i = 0; i < walk.note_count; i++)
            print_line("%s", walk.notes[i]);
    int shown = report_show(context, arguments, &report);
    if (status == EXIT_DONE)
        status = shown;
    if (status == EXIT_DONE && report_has_trouble(&report))
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
        "once: the same content again is unchanged, new content under the same path takes the place "
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
    .needs = NEEDS_STORE_CREATED,
    .options = &table,
    .run = run,
};

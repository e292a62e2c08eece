#include "cmd/commands.h"
#include "cmd/ingest_forget.h"
#include "cmd/ingest_paths.h"
#include "cmd/ingest_report.h"
#include "cmd/opt.h"
#include "input/walk.h"

enum { OPTION_JOBS, OPTION_FORCE, OPTION_RATIO, OPTION_UNPACKED, OPTION_FORGET, OPTIONS };

static const struct option options[OPTIONS] = {
    [OPTION_JOBS] = {.name = "jobs",
                     .letter = 'j',
                     .argument = "N",
                     .help = "files to read, and ranks to join, at once (default: the number of processors)",
                     .is_number = 1,
                     .least = 1,
                     .most = 256},
    [OPTION_FORCE] = {.name = "force",
                      .letter = 'f',
                      .help = "read files again that the store holds already"},
    [OPTION_RATIO] =
        {.name = "max-ratio",
         .argument = "N",
         .help = "largest unpacked size of a gzip file, as a multiple of its packed size; 0: no limit",
         .fallback = "500",
         .is_number = 1,
         .least = 0,
         .most = 1000000},
    [OPTION_UNPACKED] = {.name = "max-unpacked",
                         .argument = "MIB",
                         .help = "largest unpacked size of a gzip file, in MiB; 0: no limit",
                         .fallback = "0",
                         .is_number = 1,
                         .least = 0,
                         .most = INT64_C(1) << 40},
    [OPTION_FORGET] = {.name = "forget",
                       .argument = "RUN,...",
                       .help = "remove these runs and their files from the store, by name or number "
                               "(ncclprof info --runs); read nothing"},
};

static int number_of_jobs(const struct arguments *arguments)
{
    return arguments->values[OPTION_JOBS] ? (int)arguments_number(arguments, OPTION_JOBS)
                                          : ingest_processors();
}

static int forget(struct context *context, const struct arguments *arguments)
{
    if (!arguments->operand_count)
        return ingest_forget(context, arguments, arguments->values[OPTION_FORGET],
                             (size_t)number_of_jobs(arguments));
    error_set(&context->error, "--forget reads no files: unexpected argument '%s'", arguments->operands[0]);
    return EXIT_USAGE;
}

static int ingest(struct context *context, const struct arguments *arguments)
{
    struct walk walk;
    struct report report = {.results = NULL};
    const struct ingest_wishes wishes = {
        .paths = arguments->operands,
        .path_count = arguments->operand_count,
        .jobs = number_of_jobs(arguments),
        .force = arguments->values[OPTION_FORCE] != NULL,
        .limits = {.unpacked_bytes = (uint64_t)arguments_number(arguments, OPTION_UNPACKED) << 20,
                   .unpack_ratio = (uint64_t)arguments_number(arguments, OPTION_RATIO)},
    };
    int is_lacking;
    walk_init(&walk);
    int status = ingest_paths(context, &wishes, &walk, &report, &is_lacking);
    int shown = report_show(context, arguments, &report);
    if (status == EXIT_DONE)
        status = shown;
    if (status == EXIT_DONE && is_lacking)
        status = EXIT_NOT_DONE;
    report_release(&report);
    walk_release(&walk);
    return status;
}

static int run(struct context *context, const struct arguments *arguments)
{
    if (arguments->values[OPTION_FORGET])
        return forget(context, arguments);
    if (arguments->operand_count)
        return ingest(context, arguments);
    error_set(&context->error, "PATH... is missing");
    return EXIT_USAGE;
}

static const struct option_table table = {
    .operands = "PATH...",
    .description =
        "PATH is a file, a directory (searched) or - for standard input, in any mix of formats, gzip or not; "
        "the content tells the format. A file goes in whole, and once: the same content again is unchanged, "
        "new content under a known path replaces the old.",
    .options = options,
    .count = OPTIONS,
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

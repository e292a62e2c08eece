#include "cmd/commands.h"
#include "cmd/ingest_forget.h"
#include "cmd/ingest_paths.h"
#include "cmd/ingest_report.h"
#include "cmd/ingest_shard.h"
#include "cmd/opt.h"
#include "cmd/task.h"
#include "input/walk.h"

#include <string.h>

enum {
    OPTION_JOBS,
    OPTION_FORCE,
    OPTION_RATIO,
    OPTION_UNPACKED,
    OPTION_FORGET,
    OPTION_SHARD,
    OPTION_RANGE,
    OPTIONS
};

static const struct option options[OPTIONS] = {
    [OPTION_JOBS] = {.name = "jobs",
                     .letter = 'j',
                     .argument = "N",
                     .help = "number of threads (default: number of processors)",
                     .is_number = 1,
                     .least = 1,
                     .most = 256},
    [OPTION_FORCE] = {.name = "force",
                      .letter = 'f',
                      .help = "read files again that are already in the store"},
    [OPTION_RATIO] =
        {.name = "max-ratio",
         .argument = "N",
         .help =
             "largest uncompressed size of a gzip file, as a multiple of its compressed size; 0: no limit",
         .fallback = "500",
         .is_number = 1,
         .least = 0,
         .most = 1000000},
    [OPTION_UNPACKED] = {.name = "max-unpacked",
                         .argument = "MIB",
                         .help = "largest uncompressed size of a gzip file, in MiB; 0: no limit",
                         .fallback = "0",
                         .is_number = 1,
                         .least = 0,
                         .most = INT64_C(1) << 40},
    [OPTION_FORGET] = {.name = "forget",
                       .argument = "RUN,...",
                       .help = "remove these runs and their files from the store and read nothing; names or "
                               "numbers as in 'ncclprof info --runs'"},
    [OPTION_SHARD] = {.name = "shard",
                      .help = "write a shard with the files of this node, for 'ncclprof merge'; in the name "
                              "given by --store, %h is the node, %t the task, %n the number of tasks, %j the "
                              "job (default store: ncclprof-%h.db)"},
    [OPTION_RANGE] = {.name = "range",
                      .argument = "K/N",
                      .help = "write a shard with a part of the files on shared storage: this task reads "
                              "every Nth file, in path order, starting with file K (from 0); auto: take K "
                              "and N from Slurm or MPI (default store: ncclprof-%t.db)"},
};

static int number_of_jobs(const struct arguments *arguments)
{
    return arguments->values[OPTION_JOBS] ? (int)arguments_number(arguments, OPTION_JOBS)
                                          : ingest_processors();
}

static int is_shard(const struct arguments *arguments)
{
    return arguments->values[OPTION_SHARD] || arguments->values[OPTION_RANGE];
}

/* Which task this is; -1 with `error` set where --range makes no sense. */
static int find_task(const struct arguments *arguments, struct task *task, struct error *error)
{
    const char *range = arguments->values[OPTION_RANGE];
    task_find(task);
    return range && strcmp(range, "auto") != 0 ? task_parse(task, range, error) : 0;
}

/* A shard has a name for each task. */
static int choose(struct context *context, const struct arguments *arguments)
{
    struct task task;
    if (!is_shard(arguments))
        return EXIT_DONE;
    if (find_task(arguments, &task, &context->error))
        return EXIT_USAGE;
    return ingest_shard_name(context, &task, arguments->values[OPTION_RANGE] != NULL);
}

static int forget(struct context *context, const struct arguments *arguments)
{
    int status = ingest_refuse_shard(context);
    if (status != EXIT_DONE)
        return status;
    if (!arguments->operand_count)
        return ingest_forget(context, arguments, arguments->values[OPTION_FORGET],
                             (size_t)number_of_jobs(arguments));
    error_set(&context->error, "--forget takes no files: unexpected argument '%s'", arguments->operands[0]);
    return EXIT_USAGE;
}

/* A shard says of itself whether it is whole. */
static int bring_in_shard(struct context *context, const struct arguments *arguments,
                          struct ingest_wishes *wishes, struct walk *walk, struct report *report,
                          int *is_lacking)
{
    struct task task;
    int is_range = arguments->values[OPTION_RANGE] != NULL;
    if (find_task(arguments, &task, &context->error))
        return EXIT_USAGE;
    wishes->is_shard = 1;
    wishes->share_number = task.number;
    wishes->share_count = is_range ? task.count : 0;
    int status = ingest_shard_begin(context, &task, is_range);
    if (status == EXIT_DONE)
        status = ingest_paths(context, wishes, walk, report, is_lacking);
    return status == EXIT_DONE ? ingest_shard_end(context, &task, is_range, walk, report) : status;
}

static int bring_in(struct context *context, const struct arguments *arguments, struct ingest_wishes *wishes,
                    struct walk *walk, struct report *report, int *is_lacking)
{
    if (is_shard(arguments))
        return bring_in_shard(context, arguments, wishes, walk, report, is_lacking);
    int status = ingest_refuse_shard(context);
    return status == EXIT_DONE ? ingest_paths(context, wishes, walk, report, is_lacking) : status;
}

static int ingest(struct context *context, const struct arguments *arguments)
{
    struct walk walk;
    struct report report = {.results = NULL};
    struct ingest_wishes wishes = {
        .paths = arguments->operands,
        .path_count = arguments->operand_count,
        .jobs = number_of_jobs(arguments),
        .force = arguments->values[OPTION_FORCE] != NULL,
        .limits = {.unpacked_bytes = (uint64_t)arguments_number(arguments, OPTION_UNPACKED) << 20,
                   .unpack_ratio = (uint64_t)arguments_number(arguments, OPTION_RATIO)},
    };
    int is_lacking = 0;
    walk_init(&walk);
    int status = bring_in(context, arguments, &wishes, &walk, &report, &is_lacking);
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
    error_set(&context->error, "missing argument PATH...");
    return EXIT_USAGE;
}

static const struct option_table table = {
    .operands = "PATH...",
    .description =
        "PATH is a file, a directory (searched recursively) or - for standard input. Formats are detected "
        "from content, gzip included, and may be mixed. Each file is added completely or not at all. A file "
        "whose content is already in the store is skipped (\"unchanged\"); new content under the same path "
        "replaces the old.",
    .examples =
        "  ncclprof ingest traces/\n"
        "  ncclprof ingest --forget RUN\n"
        "  srun --ntasks-per-node 1 ncclprof ingest --shard /local/traces\n"
        "  srun ncclprof ingest --range auto /shared/traces\n"
        "  ncclprof merge -o job.db ncclprof-*.db\n",
    .options = options,
    .count = OPTIONS,
    .operands_most = (size_t)-1,
    .has_format = 1,
};

const struct command command_ingest = {
    .name = "ingest",
    .summary = "add trace files to the store",
    .needs = NEEDS_STORE_IF_ANY,
    .options = &table,
    .choose = choose,
    .run = run,
};

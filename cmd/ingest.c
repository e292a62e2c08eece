/*
 * The command `ingest`: reads trace files into a store or into the shard of a task, whose position among the
 * tasks of a job it finds, and forgets runs. ingest_paths.c reads the files.
 */
#include "ingest/ingest.h"
#include "base/base.h"
#include "cmd/internal.h"
#include "input/input.h"
#include "join/join.h"
#include "store/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Holds the path of the store until the program ends. */
static char *name_of_store;

enum { MOST_TASKS = 1 << 20 };

/*
 * The variables of each launcher. mpirun under Slurm sets both kinds, so the innermost launcher comes first.
 */
static const struct {
    const char *number;
    const char *count;
    const char *job;
} launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "SLURM_JOB_ID"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_JOB_ID"},
    {"PMI_RANK", "PMI_SIZE", "SLURM_JOB_ID"},
};

static int read_number(const char *text, int64_t *number)
{
    char *end;
    errno = 0;
    long long value = text ? strtoll(text, &end, 10) : -1;
    if (!text || end == text || *end || errno || value < 0 || value > MOST_TASKS)
        return -1;
    *number = value;
    return 0;
}

static void task_find(struct task *task)
{
    *task = (struct task){.count = 1};
    if (gethostname(task->host, sizeof task->host - 1) || !*task->host)
        memcpy(task->host, "localhost", sizeof "localhost");
    /* One machine may be several nodes of Slurm. */
    const char *node = getenv("SLURMD_NODENAME");
    if (node && *node && strlen(node) < sizeof task->host)
        memcpy(task->host, node, strlen(node) + 1);
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        int64_t number, count;
        const char *job = getenv(launchers[i].job);
        if (read_number(getenv(launchers[i].number), &number) ||
            read_number(getenv(launchers[i].count), &count) || number >= count)
            continue;
        task->number = number;
        task->count = count;
        if (job && strlen(job) < sizeof task->job)
            memcpy(task->job, job, strlen(job) + 1);
        return;
    }
}

/* Parses "K/N", with K from 0, into number and count. Returns -1 with `error` set. */
static int task_parse(struct task *task, const char *text, struct error *error)
{
    const char *slash = strchr(text, '/');
    char number[24];
    if (slash && (size_t)(slash - text) < sizeof number) {
        memcpy(number, text, (size_t)(slash - text));
        number[slash - text] = '\0';
        if (!read_number(number, &task->number) && !read_number(slash + 1, &task->count) &&
            task->number < task->count)
            return 0;
    }
    return error_set(error, "invalid --range '%s': expected auto or K/N, with K from 0 to N - 1", text);
}

static int append(struct buffer *name, const struct task *task, char letter)
{
    switch (letter) {
    case 't':
        return buffer_printf(name, "%" PRId64, task->number);
    case 'n':
        return buffer_printf(name, "%" PRId64, task->count);
    case 'h':
        return buffer_append_text(name, task->host);
    case 'j':
        return buffer_append_text(name, *task->job ? task->job : "0");
    default:
        return buffer_append_byte(name, '%');
    }
}

/*
 * Expands a file name for this task: in `pattern`, %t is the number of the task, %n the number of tasks, %h
 * the host, %j the job, and %% a per cent sign. Owned by the caller; NULL with `error` set.
 */
static char *task_name(const struct task *task, const char *pattern, struct error *error)
{
    struct buffer name = BUFFER_INIT;
    for (const char *at = pattern; *at; at++) {
        if (*at == '%' && (!at[1] || !strchr("tnhj%", at[1]))) {
            buffer_release(&name);
            error_set(error, "invalid shard name '%s': %% must be followed by t, n, h, j or %%", pattern);
            return NULL;
        }
        if (*at == '%' ? append(&name, task, *++at) : buffer_append_byte(&name, *at)) {
            buffer_release(&name);
            error_no_memory(error);
            return NULL;
        }
    }
    return buffer_detach(&name);
}

/*
 * Sets context->store_path to the name of this task's shard, which stays valid until the program ends.
 * Returns an exit_status.
 */
static int ingest_shard_name(struct context *context, const struct task *task, int is_range)
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

/*
 * True if the shard belongs to another task. Files on one host are not the files of the same names on another
 * host.
 */
static int belongs_to_other_task(const struct shard *self, const struct task *task, int is_range)
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
    if (self && belongs_to_other_task(self, task, is_range))
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

/*
 * Creates context->store if it is NULL and marks it as this task's shard, not complete yet. Refuses a store
 * that is another task's shard or not a shard. Returns an exit_status.
 */
static int ingest_shard_begin(struct context *context, const struct task *task, int is_range)
{
    static char not_ended[] = "its ingest did not finish; run the ingest again, then merge again";
    if (!context->store)
        context->store = store_open(context->store_path, STORE_CREATE, &context->error);
    if (!context->store || check_store(context, task, is_range))
        return EXIT_NOT_DONE;
    return write_state(context, task, is_range, SHARD_UNFINISHED, not_ended);
}

/* Describes which requested files are missing in the shard. NULL: none, or memory is out. */
static char *report_missing_parts(const struct walk *walk, const struct report *report)
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

/* Marks the shard as complete, or as lacking files, at the end of the ingest. Returns an exit_status. */
static int ingest_shard_end(struct context *context, const struct task *task, int is_range,
                            const struct walk *walk, const struct report *report)
{
    char *lacking = report_missing_parts(walk, report);
    int status = write_state(context, task, is_range, lacking ? SHARD_LACKING : SHARD_WHOLE, lacking);
    free(lacking);
    return status;
}

/* Reports an error if the store is a shard, for commands that would join it. Returns an exit_status. */
static int ingest_refuse_shard(struct context *context)
{
    int is_shard = context->store ? store_is_shard(context->store, &context->error) : 0;
    if (is_shard > 0)
        error_set(
            &context->error,
            "%s is a shard; add files to it with ncclprof ingest --shard, combine shards with ncclprof merge",
            context->store_path);
    return is_shard ? EXIT_NOT_DONE : EXIT_DONE;
}

static int list_files(const struct forgotten *forgotten, struct report *report, struct error *error)
{
    for (size_t i = 0; i < forgotten->count; i++) {
        const struct forgotten_file *file = &forgotten->files[i];
        struct file_result result = {.path = file->path,
                                     .status = FILE_FORGOTTEN,
                                     .events = file->events,
                                     .skipped = file->skipped,
                                     .bytes = (uint64_t)file->bytes};
        snprintf(result.dialect, sizeof result.dialect, "%s", file->dialect);
        if (report_add(report, &result, error))
            return -1;
    }
    return 0;
}

static double seconds_since(const struct timespec *begun)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - begun->tv_sec) + (double)(now.tv_nsec - begun->tv_nsec) / 1e9;
}

/*
 * Removes runs, given as a comma-separated list of names or numbers, from the store at context->store_path,
 * and shows which files were removed with them. Returns an exit_status.
 */
static int ingest_forget(struct context *context, const struct arguments *arguments, const char *runs,
                         size_t jobs)
{
    struct report report = {.results = NULL};
    struct forgotten forgotten = {.files = NULL};
    struct timespec begun;
    int status = EXIT_NOT_DONE;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    if (!context->store)
        context->store = store_open(context->store_path, STORE_WRITE, &context->error);
    if (context->store && join_forget(context->store, runs, jobs, &forgotten, &context->error) == 0 &&
        list_files(&forgotten, &report, &context->error) == 0) {
        report.seconds = seconds_since(&begun);
        status = report_show(context, arguments, &report);
    }
    report_release(&report);
    forgotten_release(&forgotten);
    return status;
}

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

/* Determines which task this is. Returns -1 with `error` set if --range is invalid. */
static int find_task(const struct arguments *arguments, struct task *task, struct error *error)
{
    const char *range = arguments->values[OPTION_RANGE];
    task_find(task);
    return range && strcmp(range, "auto") != 0 ? task_parse(task, range, error) : 0;
}

/* With a shard, every task has its own name for the store. */
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

/* A shard records whether it is complete. */
static int bring_in_shard(struct context *context, const struct arguments *arguments,
                          struct ingest_request *wishes, struct walk *walk, struct report *report,
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

static int bring_in(struct context *context, const struct arguments *arguments, struct ingest_request *wishes,
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
    struct ingest_request wishes = {
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

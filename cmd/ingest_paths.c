/*
 * Ingests the files below some paths: finds them, chooses which to read, runs the reader threads of
 * lib/ingest, and collects the results. Also the position of this process among the tasks of a job.
 */
#include "base/base.h"
#include "cmd/internal.h"
#include "ingest/ingest.h"
#include "input/input.h"
#include "join/join.h"
#include "store/store.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
                   drop_prefix_files(walk, &limits, copies, &context->error)
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

void task_find(struct task *task)
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

int task_parse(struct task *task, const char *text, struct error *error)
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

char *task_name(const struct task *task, const char *pattern, struct error *error)
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

/* The command `watch`: reads growing files repeatedly and reports how the findings change. */
#include "base/base.h"
#include "cmd/internal.h"
#include "ingest/ingest.h"
#include "input/input.h"
#include "join/join.h"
#include "output/output.h"
#include "report/report.h"
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    OPTION_INTERVAL,
    OPTION_FORMAT,
    OPTION_PROMETHEUS,
    OPTION_ALL,
    OPTION_MEMORY,
    OPTION_ONCE,
    OPTION_UNTIL_IDLE,
    OPTIONS
};

static const char *format_word(size_t number)
{
    static const char *const words[] = {"text", "json"};
    return number < sizeof words / sizeof *words ? words[number] : NULL;
}

static const struct option options[OPTIONS] = {
    [OPTION_INTERVAL] = {.name = "interval",
                         .argument = "SECONDS",
                         .help =
                             "polling interval; what is new is analyzed less often if that would use more "
                             "than 2 % of one CPU",
                         .fallback = "10",
                         .is_number = 1,
                         .least = 1,
                         .most = 86400},
    [OPTION_FORMAT] = {.name = "format",
                       .help = "one text line or one JSON object per event",
                       .fallback = "text",
                       .choice = format_word},
    [OPTION_PROMETHEUS] = {.name = "prometheus",
                           .argument = "FILE",
                           .help = "update FILE, for node_exporter, after each poll with new data"},
    [OPTION_ALL] = {.name = "all", .letter = 'a', .help = "also report low-confidence findings"},
    [OPTION_MEMORY] = {.name = "memory",
                       .argument = "MIB",
                       .help =
                           "memory limit for the operations of one run; of a larger run only selected steps "
                           "are analyzed. 0: no limit",
                       .fallback = "512",
                       .is_number = 1,
                       .least = 0,
                       .most = INT32_MAX},
    [OPTION_ONCE] = {.name = "once", .help = "poll once and exit"},
    [OPTION_UNTIL_IDLE] = {.name = "until-idle",
                           .argument = "SECONDS",
                           .help = "exit when no file has changed for SECONDS; 0: never",
                           .fallback = "0",
                           .is_number = 1,
                           .least = 0,
                           .most = 86400},
};

/* State that is kept between polls. */
struct watching {
    struct context *context;
    const struct arguments *arguments;
    int as_json;
    struct growth growth;     /* as of the latest poll that read files */
    struct growth checked;    /* as of the latest check */
    struct follower follower; /* where to go on reading */
    struct verdict_cache verdict_cache;
    struct difference difference;
    struct intern complaints; /* already reported */
    int has_said_waiting;
};

static int tell(void *context, enum change change, const struct finding_snapshot *snapshot,
                struct error *error)
{
    const struct watching *watching = context;
    struct buffer line = BUFFER_INIT;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t at_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    int failed = watching->as_json
                     ? change_line_json(change, snapshot, at_ns, &line)
                     : change_line_text(change, snapshot, at_ns, watching->verdict_cache.count > 1, &line);
    if (failed)
        failed = error_no_memory(error);
    else
        fwrite(line.data, 1, line.length, stdout);
    buffer_release(&line);
    if (failed)
        return -1;
    fflush(stdout);
    return render_check(stdout, error);
}

static int choose(void *context, struct walk *walk, struct error *error)
{
    return growth_look(context, walk, error);
}

/*
 * Reports once each file that cannot be read at all. A missing part of a growing file is normal. Returns -1
 * when memory is out.
 */
static int complain(struct watching *watching, const struct walk *walk, const struct report *report)
{
    struct intern *told = &watching->complaints;
    for (size_t i = 0; i < walk->loss_count; i++) {
        size_t known = told->count;
        if (intern_put(told, walk->losses[i], strlen(walk->losses[i])) < 0)
            return -1;
        if (told->count > known)
            print_line("%s", walk->losses[i]);
    }
    for (size_t i = 0; i < report->count; i++) {
        size_t known = told->count;
        const char *path = report->results[i].path;
        if (report->results[i].status == FILE_FAILED && intern_put(told, path, strlen(path)) < 0)
            return -1;
        if (told->count > known)
            report_print_problem(&report->results[i]);
    }
    return 0;
}

/* Says once that there are no traces yet, and where they are expected. */
static void say_waiting(struct watching *watching)
{
    const struct arguments *arguments = watching->arguments;
    const char *path = arguments->operands[0];
    size_t others = arguments->operand_count - 1;
    char more[48] = "";
    if (watching->has_said_waiting || watching->context->quiet)
        return;
    watching->has_said_waiting = 1;
    if (others)
        snprintf(more, sizeof more, " and %zu other path%s", others, others == 1 ? "" : "s");
    if (arguments->values[OPTION_ONCE])
        print_line("no traces in %s%s", path, more);
    else
        print_line("no traces in %s%s yet; waiting for trace files, polling every %s s (Ctrl-C ends it)",
                   path, more, arguments->values[OPTION_INTERVAL]);
}

/* Ingests the files that have grown. Sets *has_new_data if there were any. */
static int bring_in(struct watching *watching, int *has_new_data)
{
    struct context *context = watching->context;
    struct walk walk;
    struct report report = {.results = NULL};
    const struct ingest_request wishes = {
        .paths = watching->arguments->operands,
        .path_count = watching->arguments->operand_count,
        .jobs = ingest_processors(),
        .is_silent = 1,
        .limits = {.unpack_ratio = INPUT_RATIO_MOST},
        .follower = watching->arguments->values[OPTION_ONCE] ? NULL : &watching->follower,
        .choose = choose,
        .context = &watching->growth};
    int is_lacking;
    walk_init(&walk);
    int status = ingest_paths(context, &wishes, &walk, &report, &is_lacking);
    interrupt_watch();
    *has_new_data = walk.count > 0;
    if (complain(watching, &walk, &report)) {
        error_no_memory(&context->error);
        status = EXIT_NOT_DONE;
    }
    context->lacks_traces = is_lacking && watching->arguments->values[OPTION_ONCE];
    report_release(&report);
    walk_release(&walk);
    return status;
}

static int save_figures(struct watching *watching)
{
    struct metrics metrics;
    const char *path = watching->arguments->values[OPTION_PROMETHEUS];
    struct error *error = &watching->context->error;
    if (!path)
        return 0;
    metrics_init(&metrics);
    int failed = verdict_cache_metrics(&watching->verdict_cache, &metrics)
                     ? error_no_memory(error)
                     : metrics_save(&metrics, path, error);
    metrics_release(&metrics);
    return failed;
}

/* Analyzes the current content of the store. If `is_known` is true, nothing is reported. */
static int judge(struct watching *watching, int is_known)
{
    struct context *context = watching->context;
    struct finding_snapshot_list now = {.items = NULL};
    const struct arguments *arguments = watching->arguments;
    int failed = command_line_remember(context, arguments->operands,
                                       context->names_store ? 0 : arguments->operand_count) ||
                 verdict_cache_update(&watching->verdict_cache, context->store, &context->error);
    if (!failed && verdict_cache_findings(&watching->verdict_cache, &now))
        failed = error_no_memory(&context->error);
    if (!failed && is_known && reported_findings_begin(&watching->difference, &now))
        failed = error_no_memory(&context->error);
    if (!failed && !is_known)
        failed = reported_findings_update(&watching->difference, &now, tell, watching, &context->error) ||
                 save_figures(watching);
    finding_snapshot_list_release(&now);
    return failed ? EXIT_NOT_DONE : EXIT_DONE;
}

/* Findings that are already in an existing store are not reported. */
static int begin(struct watching *watching)
{
    struct context *context = watching->context;
    if (!context->names_store)
        return temporary_store_prepare(context);
    if (access(context->store_path, F_OK) && errno == ENOENT)
        return EXIT_DONE;
    context->store = store_open(context->store_path, STORE_CREATE, &context->error);
    if (!context->store || join_store(context->store, (size_t)ingest_processors(), &context->error))
        return EXIT_NOT_DONE;
    return judge(watching, 1);
}

/* No new data has arrived, so findings that were held back because of that are reported now. */
static int settle(struct watching *watching)
{
    return reported_findings_confirm(&watching->difference, tell, watching, &watching->context->error)
               ? EXIT_NOT_DONE
               : EXIT_DONE;
}

static int look(struct watching *watching, int *has_new_data)
{
    int status = bring_in(watching, has_new_data);
    if (status == EXIT_DONE && (!watching->context->store || !watching->growth.count))
        say_waiting(watching);
    if (status != EXIT_DONE || !watching->context->store)
        return status;
    return *has_new_data ? judge(watching, 0) : settle(watching);
}

static double seconds_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A signal ends the sleep. A signal that arrives just before the sleep ends it within a second. */
static void wait_for(double seconds)
{
    double until = seconds_of(CLOCK_MONOTONIC) + seconds, left = seconds;
    while (left > 0 && !interrupt_wanted(NULL)) {
        struct timespec some = {.tv_sec = left > 1 ? 1 : 0, .tv_nsec = left > 1 ? 0 : (long)(left * 1e9)};
        nanosleep(&some, NULL);
        left = until - seconds_of(CLOCK_MONOTONIC);
    }
}

/*
 * After a poll that failed, for example because another process holds the store, all files are read again.
 * The reason is reported once. Returns an exit_status: whether to continue.
 */
static int recover_from_failure(struct watching *watching)
{
    struct error *error = &watching->context->error;
    const char *reason = error->depth ? error->cause[0] : "";
    size_t known = watching->complaints.count;
    if (ferror(stdout) || error->is_no_memory ||
        intern_put(&watching->complaints, reason, strlen(reason)) < 0)
        return EXIT_NOT_DONE;
    if (watching->complaints.count > known)
        print_error(error);
    error_clear(error);
    growth_release(&watching->growth);
    follower_release(&watching->follower);
    follower_init(&watching->follower);
    return EXIT_DONE;
}

static int look_once(struct watching *watching)
{
    int has_new_data;
    int status = look(watching, &has_new_data);
    return status == EXIT_DONE && watching->context->store ? settle(watching) : status;
}

/* Checks which files have changed. A path that cannot be read is reported by the poll that reads files. */
static int check(struct watching *watching, struct pace *pace)
{
    struct error *error = &watching->context->error;
    const struct arguments *arguments = watching->arguments;
    struct walk walk;
    walk_init(&walk);
    for (size_t i = 0; i < arguments->operand_count && !error->is_no_memory; i++)
        if (walk_add(&walk, arguments->operands[i], error) && !error->is_no_memory)
            error_clear(error);
    int failed = error->is_no_memory || growth_look(&watching->checked, &walk, error);
    if (!failed)
        pace_check(pace, walk.count > 0, seconds_of(CLOCK_MONOTONIC));
    walk_release(&walk);
    return failed ? EXIT_NOT_DONE : EXIT_DONE;
}

/* Reads and analyzes what is new. After a failure, it is tried again. */
static int catch_up(struct watching *watching, struct pace *pace)
{
    int has_new_data;
    double used_s = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    int status = look(watching, &has_new_data);
    pace_rest(pace, seconds_of(CLOCK_PROCESS_CPUTIME_ID) - used_s, seconds_of(CLOCK_MONOTONIC));
    if (status != EXIT_NOT_DONE)
        return status;
    pace->is_behind = 1;
    return recover_from_failure(watching);
}

/* Polls until it is told to end. idle_s: ends after this many seconds without new data; 0: never. */
static int go_on(struct watching *watching, double interval_s, double idle_s)
{
    struct pace pace;
    int status = EXIT_DONE;
    pace_init(&pace, interval_s, seconds_of(CLOCK_MONOTONIC));
    while (status == EXIT_DONE && !interrupt_wanted(NULL)) {
        status = check(watching, &pace);
        double now_s = seconds_of(CLOCK_MONOTONIC);
        int is_idle = idle_s > 0 && now_s - pace.changed_at_s >= idle_s;
        /* If nothing has changed, this confirms what was held back, and reports what cannot be read. */
        if (status == EXIT_DONE && (!pace.is_behind || is_idle || pace_is_due(&pace, now_s)))
            status = catch_up(watching, &pace);
        if (is_idle)
            return status == EXIT_DONE && watching->context->store ? settle(watching) : status;
        if (status == EXIT_DONE)
            wait_for(interval_s);
    }
    return status;
}

/* A request to end is not a failure. */
static int watch(struct watching *watching)
{
    const struct arguments *arguments = watching->arguments;
    int status = begin(watching);
    if (status == EXIT_DONE)
        status = arguments->values[OPTION_ONCE]
                     ? look_once(watching)
                     : go_on(watching, (double)arguments_number(arguments, OPTION_INTERVAL),
                             (double)arguments_number(arguments, OPTION_UNTIL_IDLE));
    return status == EXIT_INTERRUPTED ? EXIT_DONE : status;
}

static int run(struct context *context, const struct arguments *arguments)
{
    struct watching watching = {
        .context = context,
        .arguments = arguments,
        .as_json = strcmp(arguments->values[OPTION_FORMAT], "json") == 0,
        .verdict_cache = {.memory_bytes = (int64_t)arguments_number(arguments, OPTION_MEMORY) << 20,
                          .shows_low = arguments->values[OPTION_ALL] != NULL,
                          .wants_metrics = arguments->values[OPTION_PROMETHEUS] != NULL},
    };
    growth_init(&watching.growth);
    growth_init(&watching.checked);
    follower_init(&watching.follower);
    intern_init(&watching.complaints);
    interrupt_watch();
    int status = watch(&watching);
    interrupt_restore();
    intern_release(&watching.complaints);
    reported_findings_release(&watching.difference);
    verdict_cache_release(&watching.verdict_cache);
    growth_release(&watching.growth);
    growth_release(&watching.checked);
    follower_release(&watching.follower);
    return status;
}

static const struct option_table table = {
    .operands = "PATH...",
    .description =
        "Follows the trace files of a running job. Prints one line when a finding of diagnose appears, "
        "changes, ends or is withdrawn. Stop it with Ctrl-C. With --store, findings that are already in the "
        "store are not repeated. Without it, watch uses a temporary store.",
    .options = options,
    .count = OPTIONS,
    .operands_least = 1,
    .operands_most = (size_t)-1,
};

const struct command command_watch = {
    .name = "watch",
    .summary = "report findings while a job runs",
    .options = &table,
    .run = run,
};

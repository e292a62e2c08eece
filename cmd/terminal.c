/*
 * The terminal: lines on standard error, tables on standard output, the progress line, and the handling of
 * Ctrl-C and closed pipes.
 */
#include "base/base.h"
#include "cmd/internal.h"
#include "model/model.h"
#include "output/output.h"
#include "store/store.h"

#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void put_escaped(const char *before, const char *text)
{
    struct buffer escaped = BUFFER_INIT;
    if (escape_terminal(&escaped, text, strlen(text)) == 0)
        fprintf(stderr, "%s%s\n", before, escaped.data);
    else
        fputs("ncclprof: out of memory\n", stderr);
    buffer_release(&escaped);
}

void print_line(const char *format, ...)
{
    struct error text;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text.cause[0], sizeof text.cause[0], format, arguments);
    va_end(arguments);
    put_escaped("ncclprof: ", text.cause[0]);
}

void print_error(const struct error *error)
{
    for (int i = error->depth - 1; i >= 0; i--)
        put_escaped(i == error->depth - 1 ? "ncclprof: " : "  cause: ", error->cause[i]);
}

void print_warnings(const struct table *table)
{
    for (size_t i = 0; i < table->warning_count; i++)
        print_line("warning: %s", table->warnings[i]);
}

int print_table(struct context *context, const struct arguments *arguments, const struct table *table)
{
    struct render_target target = {.stream = stdout, .width = context->width, .colour = context->colour};
    if (render_table(arguments->renderer, table, &target, &context->error))
        return EXIT_NOT_DONE;
    if (!arguments->renderer->shows_warnings)
        print_warnings(table);
    return EXIT_DONE;
}

int rows_show(struct context *context, const struct arguments *arguments, struct query *query)
{
    const struct render_target target = {
        .stream = stdout, .width = context->width, .colour = context->colour};
    const struct renderer *renderer = arguments->renderer;
    void *state = renderer->begin(query_head(query), &target, &context->error);
    if (!state)
        return EXIT_NOT_DONE;
    const struct cell *cells;
    int more;
    while ((more = query_next(query, &cells, &context->error)) == 1)
        if (renderer->row(state, cells, &context->error))
            break;
    if (more != 0) {
        renderer->abandon(state);
        return query_stopped(query) ? EXIT_INTERRUPTED : EXIT_NOT_DONE;
    }
    return renderer->end(state, &context->error) ? EXIT_NOT_DONE : EXIT_DONE;
}

enum { REDRAW_MS = 200 };

static double seconds_between(const struct timespec *from, const struct timespec *to)
{
    return (double)(to->tv_sec - from->tv_sec) + (double)(to->tv_nsec - from->tv_nsec) / 1e9;
}

void progress_begin(struct progress *progress, int quiet, uint64_t total_files, uint64_t total_bytes)
{
    *progress = (struct progress){
        .shown = !quiet && isatty(STDERR_FILENO), .total_files = total_files, .total_bytes = total_bytes};
    clock_gettime(CLOCK_MONOTONIC, &progress->begun);
    progress->last = progress->begun;
}

double progress_seconds(const struct progress *progress)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return seconds_between(&progress->begun, &now);
}

static void put_bar(double share)
{
    enum { BAR_WIDTH = 20 };
    char bar[BAR_WIDTH + 1];
    for (int i = 0; i < BAR_WIDTH; i++)
        bar[i] = i < (int)(share * BAR_WIDTH) ? '#' : '.';
    bar[BAR_WIDTH] = '\0';
    fprintf(stderr, "[%s] %3d%%", bar, (int)(share * 100));
}

void progress_show(struct progress *progress)
{
    struct timespec now;
    if (!progress->shown)
        return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (seconds_between(&progress->last, &now) * 1000 < REDRAW_MS)
        return;
    progress->last = now;
    double done = (double)progress->bytes, seconds = seconds_between(&progress->begun, &now);
    fputs("\r\033[K", stderr);
    if (progress->total_bytes) {
        double share = done / (double)progress->total_bytes;
        put_bar(share < 1 ? share : 1);
    }
    fprintf(stderr, " %llu/%llu files  %.0f MB  %.0f MB/s", (unsigned long long)progress->files,
            (unsigned long long)progress->total_files, done / 1e6, done / 1e6 / seconds);
    if (progress->total_bytes && done > 0 && done < (double)progress->total_bytes)
        fprintf(stderr, "  %.0f s left", ((double)progress->total_bytes - done) * seconds / done);
    fflush(stderr);
    progress->drawn = 1;
}

void progress_clear(struct progress *progress)
{
    if (progress->drawn)
        fputs("\r\033[K", stderr);
    progress->drawn = 0;
}

/*
 * Set in a signal handler and read by several threads. An int is atomic without a lock on all supported
 * machines.
 */
static atomic_int wanted;

/* The process exits if work has not stopped so long after an interrupt or after its time limit. */
enum { GRACE_SECONDS = 3 };

static atomic_int insists;

static void note(int number)
{
    wanted = 1;
    if (insists)
        alarm(GRACE_SECONDS);
}

static void end(int number)
{
    static const char late[] = "ncclprof: stopped, because the time limit was exceeded\n";
    ssize_t written = wanted ? 0 : write(STDERR_FILENO, late, sizeof late - 1);
    (void)written;
    _exit(wanted ? 130 : 1);
}

static void set(void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

void interrupt_watch(void)
{
    set(note, (int)SA_RESETHAND | SA_RESTART);
}

void interrupt_exit_after(unsigned seconds)
{
    struct sigaction action = {.sa_handler = end};
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    insists = 1;
    alarm(seconds ? seconds + GRACE_SECONDS : 0);
}

/* Files and directory that are removed when the process ends; NULL: none. */
static const char *removed_directory, *removed_files[2];

static int remove_temporary(void)
{
    for (size_t i = 0; i < sizeof removed_files / sizeof *removed_files; i++)
        unlink(removed_files[i]);
    return rmdir(removed_directory);
}

/* The reader has closed the pipe, so no more output is wanted. */
static void exit_on_closed_pipe(int number)
{
    _exit(removed_directory && remove_temporary() ? 1 : 141);
}

void interrupt_set_removal(const char *directory, const char *file, const char *other)
{
    struct sigaction action = {.sa_handler = exit_on_closed_pipe};
    sigemptyset(&action.sa_mask);
    removed_directory = directory;
    removed_files[0] = file;
    removed_files[1] = other;
    sigaction(SIGPIPE, &action, NULL);
}

static void leave(int number)
{
    static const char said[] = "ncclprof: interrupted; the data read so far is in the store\n";
    ssize_t written = removed_directory ? remove_temporary() : write(STDERR_FILENO, said, sizeof said - 1);
    (void)written;
    _exit(130);
}

void interrupt_at_once(void)
{
    set(leave, 0);
}

void interrupt_restore(void)
{
    alarm(0);
    insists = 0;
    set(SIG_DFL, 0);
}

int interrupt_wanted(void *context)
{
    return wanted;
}

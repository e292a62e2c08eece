#include "cmd/interrupt.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

/* Set in a signal handler, read by several threads: an int is atomic without a lock everywhere we run. */
static atomic_int wanted;

/* How long work may go on after it should have ended, when the process insists. */
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

void interrupt_insist(unsigned seconds)
{
    struct sigaction action = {.sa_handler = end};
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    insists = 1;
    alarm(seconds ? seconds + GRACE_SECONDS : 0);
}

/* What goes with the process; NULL: nothing. */
static const char *passing, *passing_files[2];

static int pass(void)
{
    for (size_t i = 0; i < sizeof passing_files / sizeof *passing_files; i++)
        unlink(passing_files[i]);
    return rmdir(passing);
}

/* Who reads has seen enough. */
static void leave_pipe(int number)
{
    _exit(passing && pass() ? 1 : 141);
}

void interrupt_removes(const char *directory, const char *file, const char *other)
{
    struct sigaction action = {.sa_handler = leave_pipe};
    sigemptyset(&action.sa_mask);
    passing = directory;
    passing_files[0] = file;
    passing_files[1] = other;
    sigaction(SIGPIPE, &action, NULL);
}

static void leave(int number)
{
    static const char said[] = "ncclprof: interrupted; the data read so far is in the store\n";
    ssize_t written = passing ? pass() : write(STDERR_FILENO, said, sizeof said - 1);
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

/* How and when processes end. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fakecore_trace.h"
#include "probe.h"

/* A wait without end takes longer than this. */
#define LATEST_S 300

#define LOOK_US 200
/* Five seconds, and longer on a busy machine on which this process waits for its turn, as the child does. */
#define LOOKS (5000000 / LOOK_US)

/* True if the child ends by itself before it counts as hanging. */
static bool ends(pid_t child)
{
    for (int i = 0; i < LOOKS; i++) {
        if (waitpid(child, NULL, WNOHANG) != 0)
            return true;
        usleep(LOOK_US);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return false;
}

static void leave(int number)
{
    (void)number;
    exit(0);
}

/* A signal interrupts finalize after some microseconds, like that of a launcher that ends the job. */
static void finalize_interrupted(long after_us)
{
    void *context = probe_init(1);
    for (uint64_t i = 0; i < 50; i++)
        probe_play_task(context, NULL, i);
    struct sigaction action = {.sa_handler = leave};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval timer = {.it_value = {.tv_usec = after_us}};
    setitimer(ITIMER_REAL, &timer, NULL);
    fake_finalize(&probe_plugin, context);
    pause();
}

void probe_exit_in_handler(void)
{
    int hung = 0;
    for (int i = 0; i < probe_number; i++) {
        pid_t child = fork();
        if (child == 0)
            finalize_interrupted(1 + i * 37 % 600);
        hung += !ends(child);
    }
    fprintf(stderr, "%d hung\n", hung);
}

/* Stops at the beginning of finalize. */
static void finalize_in_steps(void)
{
    void *context = probe_init(1);
    probe_play_task(context, NULL, 1);
    struct sigaction action = {.sa_handler = leave};
    sigaction(SIGALRM, &action, NULL);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        _exit(2);
    raise(SIGSTOP);
    fake_finalize(&probe_plugin, context);
    _exit(0);
}

/* False if the child ends earlier, or does not stop at all. */
static bool step(pid_t child, int instructions)
{
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        return false;
    for (int i = 0; i < instructions; i++)
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) != 0 || waitpid(child, &status, 0) != child ||
            !WIFSTOPPED(status))
            return false;
    return true;
}

/*
 * A signal after 0 instructions of finalize, then after a few, twice as many and so on up to its end: moments
 * that hardly ever occur by chance.
 */
void probe_exit_at_steps(void)
{
    int hung = 0;
    int signals = 0;
    while (hung < 3) {
        pid_t child = fork();
        if (child == 0)
            finalize_in_steps();
        if (!step(child, signals * probe_number))
            break;
        signals++;
        kill(child, SIGALRM);
        ptrace(PTRACE_DETACH, child, NULL, NULL);
        hung += !ends(child);
    }
    fprintf(stderr, "%d signals\n%d hung\n", signals, hung);
}

/* Simulates a file system that does not answer. */
static void logger_that_hangs(int level, unsigned long subsystem, const char *file, int line,
                              const char *format, ...)
{
    (void)level, (void)subsystem, (void)file, (void)line, (void)format;
    pause();
}

static void *init_that_hangs(void *unused)
{
    void *context = unused;
    int mask = 0;
    fake_init(&probe_plugin, &context, &mask, 1, "probe", 1, 2, 0, logger_that_hangs);
    return NULL;
}

static void hang_in_init(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, init_that_hangs, NULL) != 0)
        _exit(2);
    usleep(300000);
}

void probe_exit_during_init(void)
{
    pid_t child = fork();
    if (child == 0) {
        hang_in_init();
        exit(0);
    }
    fprintf(stderr, "%d hung\n", !ends(child));
}

void probe_fork_during_init(void)
{
    pid_t child = fork();
    if (child == 0) {
        hang_in_init();
        pid_t grandchild = fork();
        if (grandchild == 0)
            exit(0);
        waitpid(grandchild, NULL, 0);
        _exit(0);
    }
    fprintf(stderr, "%d hung\n", !ends(child));
}

/* A child that the C library does not know about. */
void probe_bare_fork(void)
{
    void *context = probe_init(1);
    /*
     * The writer thread must be asleep: a lock of the C library that it holds would stay locked in the child.
     */
    fake_await_trace(".json", "\"Communicator\"", 1);
    usleep(300000);
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0)
        exit(0);
    fprintf(stderr, "%d hung\n", !ends(child));
    probe_play_task(context, NULL, 1);
    fake_finalize(&probe_plugin, context);
}

/* Forks once more before the fork for which it is called. */
static bool forks_within;

static void fork_within(void)
{
    if (!forks_within)
        return;
    forks_within = false;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    (void)ends(child);
}

static void *init_another(void *unused)
{
    (void)unused;
    return probe_init(2);
}

/* Another thread must not wait for what the first one locked for both. Registered first, called last. */
void probe_nested_fork(void)
{
    pthread_t thread;
    struct timespec until;
    pthread_atfork(fork_within, NULL, NULL);
    void *context = probe_init(1);
    forks_within = true;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    (void)ends(child);
    pthread_create(&thread, NULL, init_another, NULL);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LATEST_S;
    void *another = NULL;
    int hung = pthread_timedjoin_np(thread, &another, &until) != 0;
    fprintf(stderr, "%d hung\n", hung);
    if (hung)
        _exit(0);
    fake_finalize(&probe_plugin, another);
    fake_finalize(&probe_plugin, context);
}

static void *finalize(void *context)
{
    fake_finalize(&probe_plugin, context);
    return NULL;
}

/*
 * The only ring buffer belongs to another thread. number 1: an operation is pending, as of an aborted
 * communicator.
 */
void probe_end_without_a_ring(void)
{
    pthread_t thread;
    void *context = probe_init(1);
    probe_play_task(context, NULL, 1);
    if (probe_number)
        (void)probe_kernel(context, probe_task(context, NULL, 2));
    if (pthread_create(&thread, NULL, finalize, context) != 0 || pthread_join(thread, NULL) != 0)
        _exit(2);
    _exit(0);
}

/*
 * The same for a communicator with a pending operation while another one lives; the job is killed when that
 * is reported.
 */
void probe_end_beside_another(void)
{
    pthread_t thread;
    void *lasting = probe_init(1);
    void *context = probe_init(2);
    probe_play_task(lasting, NULL, 1);
    (void)probe_kernel(context, probe_task(context, NULL, 2));
    if (pthread_create(&thread, NULL, finalize, context) != 0 || pthread_join(thread, NULL) != 0)
        _exit(2);
    fake_await_trace(".json", "\"Unfinished\": 1", 1);
    kill(getpid(), SIGKILL);
}

/*
 * Calls of NCCL to the plugin while the fork of another thread takes long, as that of a large process does.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fakecore_trace.h"
#include "probe.h"

#define MASK_OF_OTHERS 77

static _Atomic bool takes_long, is_under_way;
static _Atomic int lines_logged;
static pthread_t forking;

static void wait_in_fork(void)
{
    is_under_way = takes_long;
    while (takes_long)
        usleep(1000);
}

/* Registered before the plugin is loaded, so it runs after the plugin's handler before a fork. */
__attribute__((constructor)) static void program_begins(void)
{
    (void)pthread_atfork(wait_in_fork, NULL, NULL);
}

static void *fork_in_thread(void *unused)
{
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    return unused;
}

static void begin_long_fork(void)
{
    takes_long = true;
    if (pthread_create(&forking, NULL, fork_in_thread, NULL) != 0)
        _exit(2);
    while (!is_under_way)
        usleep(1000);
}

static void end_long_fork(void)
{
    takes_long = false;
    pthread_join(forking, NULL);
}

static void log_to_standard_error(int level, unsigned long subsystem, const char *file, int line,
                                  const char *format, ...)
{
    char text[5000];
    va_list values;
    (void)level, (void)subsystem, (void)file, (void)line;
    va_start(values, format);
    (void)vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    lines_logged++;
    fprintf(stderr, "%s\n", text);
}

static void *init(uint64_t hash, int *mask)
{
    void *context = NULL;
    fake_init(&probe_plugin, &context, mask, hash, "probe", 1, 2, 0, log_to_standard_error);
    return context;
}

/* A second communicator next to one that is recorded. */
void probe_init_beside_long_fork(void)
{
    int mask = 0;
    void *first = init(1, &mask);
    mask = MASK_OF_OTHERS;
    begin_long_fork();
    void *second = init(2, &mask);
    end_long_fork();
    fprintf(stderr, "mask %d\n", mask);
    probe_play_task(first, NULL, 1);
    probe_play_task(second, NULL, 2);
    fake_finalize(&probe_plugin, second);
    fake_finalize(&probe_plugin, first);
}

static void *play_in_thread(void *context)
{
    probe_play_task(context, NULL, 3);
    return NULL;
}

/*
 * The process then ends without a destructor. Messages on drops after that must not go to NCCL's logger,
 * because NCCL may be unloaded.
 */
void probe_finalize_beside_long_fork(void)
{
    int mask = 0;
    pthread_t thread;
    void *context = init(1, &mask);
    probe_play_task(context, NULL, 1);
    begin_long_fork();
    fake_finalize(&probe_plugin, context);
    end_long_fork();
    int before = lines_logged;
    if (pthread_create(&thread, NULL, play_in_thread, context) != 0 || pthread_join(thread, NULL) != 0)
        _exit(2);
    fake_await_trace(".json", "{}]", 1);
    usleep(600000);
    fprintf(stderr, "%d after\n", lines_logged - before);
    _exit(0);
}

/*
 * The first communicator of the process cannot be recorded; the next one is. Between them NCCL may be
 * unloaded.
 */
void probe_first_init_beside_long_fork(void)
{
    int mask = MASK_OF_OTHERS;
    begin_long_fork();
    void *context = init(1, &mask);
    end_long_fork();
    fprintf(stderr, "mask %d\n", mask);
    fake_finalize(&probe_plugin, context);
    context = init(2, &mask);
    probe_play_task(context, NULL, 1);
    fake_finalize(&probe_plugin, context);
}

/* Settings that hold from the first communicator on. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "probe.h"

static void *play_in_thread(void *context)
{
    probe_play_task(context, NULL, 2);
    return NULL;
}

/*
 * The variable that enables messages is unset; then a second thread causes a message if it gets no ring
 * buffer.
 */
void probe_changed_environment(void)
{
    void *context = probe_init(1);
    unsetenv("NCCL_DEBUG");
    probe_play_task(context, NULL, 1);
    pthread_t thread;
    if (pthread_create(&thread, NULL, play_in_thread, context) != 0)
        _exit(2);
    pthread_join(thread, NULL);
    fake_finalize(&probe_plugin, context);
}

/*
 * A thread that gets no ring buffer if there is only one; after the message, more events than fit into the
 * buffer of this thread.
 */
void probe_two_causes(void)
{
    pthread_t thread;
    void *context = probe_init(1);
    probe_play_task(context, NULL, 1);
    if (pthread_create(&thread, NULL, play_in_thread, context) != 0)
        _exit(2);
    pthread_join(thread, NULL);
    usleep(600000);
    for (uint64_t i = 0; i < 20000; i++)
        probe_play_task(context, NULL, 3 + i);
    fake_finalize(&probe_plugin, context);
}

static _Atomic int lines_logged;

static void count_lines(int level, unsigned long subsystem, const char *file, int line, const char *format,
                        ...)
{
    (void)level, (void)subsystem, (void)file, (void)line, (void)format;
    lines_logged++;
}

/*
 * A task on a thread without a ring buffer, which is worth a line; and a number of tasks before and after it.
 */
void probe_logger_after_finalize(void)
{
    void *context = NULL;
    int mask = 0;
    pthread_t thread;
    fake_init(&probe_plugin, &context, &mask, 1, "probe", 1, 2, 0, count_lines);
    probe_play_task(context, NULL, 1);
    fake_finalize(&probe_plugin, context);
    int before = lines_logged;
    if (pthread_create(&thread, NULL, play_in_thread, context) != 0)
        _exit(2);
    pthread_join(thread, NULL);
    usleep(600000);
    fprintf(stderr, "%d before\n%d after\n", before, lines_logged - before);
}

/* Tags at moments and from threads that no training job has. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "probe.h"

static void (*set_tag)(const char *tag);
static volatile sig_atomic_t tags_set;

static void find_set_tag(void)
{
    void *symbol = dlsym(probe_plugin.library, "ncclprof_tag");
    memcpy(&set_tag, &symbol, sizeof(set_tag));
}

static void tag_in_handler(int number)
{
    (void)number;
    set_tag("handler");
    tags_set++;
}

/* A signal handler sets tags in the middle of everything that the job's thread does; the number of tags. */
void probe_tags_in_handler(void)
{
    struct sigaction action = {.sa_handler = tag_in_handler, .sa_flags = SA_RESTART};
    struct itimerval timer = {{0, 100}, {0, 100}};
    const struct itimerval none = {{0, 0}, {0, 0}};
    find_set_tag();
    void *context = probe_init(1);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    for (int i = 0; i < probe_number; i++)
        probe_play_task(context, NULL, (uint64_t)i);
    setitimer(ITIMER_REAL, &none, NULL);
    fake_finalize(&probe_plugin, context);
    fprintf(stderr, "%d tags\n", (int)tags_set);
}

/* The setting for tags changes between the first communicator and the first tag, which is one of NCCL's. */
void probe_changed_tag_settings(void)
{
    void *context = probe_init(1);
    setenv("NCCLPROF_TAG_BYTES", "3", 1);
    fake_tag(&probe_plugin, context, 0, "forward");
    fake_finalize(&probe_plugin, context);
}

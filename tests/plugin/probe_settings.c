/* What holds from the first communicator on. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "probe.h"

static void *play_in_thread(void *context)
{
    probe_play_task(context, NULL, 2);
    return NULL;
}

/* The variable that asks for messages goes away; then a second thread gives cause for one, if it gets no
 * ring. */
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

#include "plugin/write/thread.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

/* Of another thread the C library would have to write into a file. */
void thread_name(const char *name)
{
    (void)prctl(PR_SET_NAME, name);
}

int thread_start(void *(*run)(void *), void *argument)
{
    pthread_t thread;
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return -1;
    int result = pthread_create(&thread, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (result != 0)
        return -1;
    pthread_detach(thread);
    return 0;
}

#include "plugin/write/thread.h"

#include <pthread.h>
#include <signal.h>

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
    pthread_setname_np(thread, "ncclprof");
    pthread_detach(thread);
    return 0;
}

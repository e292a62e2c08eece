/* Preloaded into a rank: each of its socket sends of 4 KiB and more that goes through is followed by a pause.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

enum { LEAST_BYTES = 4096 };

static atomic_uint pause_us;

/* Called by training_job.py; 0: sends are as they were. */
void slow_sends(unsigned us);

void slow_sends(unsigned us)
{
    atomic_store(&pause_us, us);
}

ssize_t send(int socket, const void *data, size_t bytes, int flags)
{
    static ssize_t (*_Atomic next)(int, const void *, size_t, int);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "send");
    ssize_t sent = next(socket, data, bytes, flags);
    unsigned us = atomic_load(&pause_us);
    if (us && sent >= LEAST_BYTES)
        usleep(us);
    return sent;
}

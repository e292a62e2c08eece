#include "cmd/interrupt.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

/* Set in a signal handler, read by several threads: an int is atomic without a lock everywhere we run. */
static atomic_int wanted;

static void note(int number)
{
    wanted = 1;
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

void interrupt_restore(void)
{
    set(SIG_DFL, 0);
}

int interrupt_wanted(void *context)
{
    return wanted;
}

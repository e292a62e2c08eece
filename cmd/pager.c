#include "cmd/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t pager;

static const char *choose(void)
{
    const char *wanted = getenv("NCCLPROF_PAGER"), *terminal = getenv("TERM");
    if (!terminal || strcmp(terminal, "dumb") == 0)
        return NULL;
    if (!wanted)
        wanted = getenv("PAGER");
    if (!wanted)
        wanted = "if command -v less >/dev/null; then exec less; else exec cat; fi";
    return *wanted && strcmp(wanted, "cat") != 0 ? wanted : NULL;
}

/* In the child: never returns. */
static void run(const char *command, const int *ends)
{
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    close(ends[1]);
    setenv("LESS", "FRX", 0);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

void pager_begin(void)
{
    const char *command = choose();
    int ends[2];
    if (!command || !isatty(STDOUT_FILENO) || pipe2(ends, O_CLOEXEC))
        return;
    pager = fork();
    if (pager == 0)
        run(command, ends);
    if (pager > 0)
        dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    /* Who leaves the pager early has seen enough: writing on fails, and the program ends. Ctrl-C is the
     * pager's. */
    if (pager > 0)
        signal(SIGINT, SIG_IGN);
}

void pager_end(void)
{
    if (pager <= 0)
        return;
    while (waitpid(pager, NULL, 0) < 0 && errno == EINTR)
        ;
    pager = 0;
}

/* The processes of the sampler: how they start, and how they keep out of the job's way. */
#include "node/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Kernels before 5.9, and containers that forbid the call: by the list of open files. */
static void close_listed(unsigned first, unsigned last)
{
    DIR *names = opendir("/proc/self/fd");
    struct dirent *entry;
    while (names && (entry = readdir(names))) {
        unsigned long file = strtoul(entry->d_name, NULL, 10);
        if (is_digit(entry->d_name[0]) && file >= first && file <= last && (int)file != dirfd(names))
            close((int)file);
    }
    if (names)
        closedir(names);
}

static void close_range_of(unsigned first, unsigned last)
{
    if (first <= last && syscall(SYS_close_range, first, last, 0) != 0)
        close_listed(first, last);
}

static int compare_files(const void *left, const void *right)
{
    return compare_integers(*(const int *)left, *(const int *)right);
}

/* Pipes of the job must not stay open in another process. */
static void close_others(const int *kept, size_t kept_count)
{
    int files[8];
    unsigned next = STDERR_FILENO + 1;
    size_t count = kept_count < 8 ? kept_count : 8;
    memcpy(files, kept, count * sizeof *files);
    array_sort(files, count, sizeof *files, compare_files);
    for (size_t i = 0; i < count; i++) {
        if (files[i] < (int)next)
            continue;
        close_range_of(next, (unsigned)files[i] - 1);
        next = (unsigned)files[i] + 1;
    }
    close_range_of(next, ~0U);
    int nothing = open("/dev/null", O_RDWR);
    for (int file = STDIN_FILENO; nothing >= 0 && file <= STDERR_FILENO; file++)
        dup2(nothing, file);
    if (nothing > STDERR_FILENO)
        close(nothing);
}

static void reset_signals(void)
{
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_IGN);
}

pid_t node_process_start(void (*run)(void *context), void *context, const int *kept, size_t kept_count)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    close_others(kept, kept_count);
    run(context);
    _exit(0);
}

/*
 * The process in the middle ends at once, so that the sampler gets init as its parent and the job never waits
 * for it. Where the job itself is init, as in containers, it becomes the parent, but the sampler ends after
 * it.
 */
int node_process_detach(void (*run)(void *context), void *context)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        pid = fork();
        if (pid != 0)
            _exit(pid < 0);
        close_others(&(const int){-1}, 1);
        reset_signals();
        umask(0077);
        if (chdir("/") == 0)
            run(context);
        _exit(0);
    }
    if (pid < 0)
        return -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

/*
 * Not SCHED_IDLE: where cores are short, which is to be recorded, such a process would not run for seconds.
 * With the least weight of a usual process it gets 1.5 % of a core that another one wants, and needs less.
 */
void node_process_step_back(void)
{
    struct sched_param none = {.sched_priority = 0};
    struct rlimit no_core = {0, 0};
    sched_setscheduler(0, SCHED_BATCH, &none);
    setpriority(PRIO_PROCESS, 0, 19);
    setrlimit(RLIMIT_CORE, &no_core);
    prctl(PR_SET_NAME, "ncclprof-node");
    int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file >= 0 && write(file, "1000", 4) < 0)
        errno = 0; /* without it the process is as likely to be killed as others */
    if (file >= 0)
        close(file);
}

/* File systems that do not answer, and forks while they block the plugin. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe.h"

/* Only a call that never returns takes longer, on any slow and busy machine. */
#define PATIENCE_S 120
#define FORKS 40

/* True if it had to be killed because it did not end by itself. */
static bool hangs(pid_t child)
{
    for (int i = 0; i < PATIENCE_S * 1000; i++) {
        if (waitpid(child, NULL, WNOHANG) != 0)
            return false;
        usleep(1000);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return true;
}

static void use(uint64_t hash)
{
    void *context = probe_init(hash);
    probe_play_task(context, NULL, 1);
    fake_finalize(&probe_plugin, context);
}

/*
 * Two communicators, one after the other, then the end: each call returns, and its duration goes to standard
 * error.
 */
void probe_hanging_disk(void)
{
    uint64_t begin_ns = probe_now_ns();
    pid_t child = fork();
    if (child == 0) {
        void *context = probe_init(1);
        fprintf(stderr, "init: %.2f s\n", (double)(probe_now_ns() - begin_ns) / 1e9);
        probe_play_task(context, NULL, 1);
        begin_ns = probe_now_ns();
        fake_finalize(&probe_plugin, context);
        fprintf(stderr, "finalize: %.2f s\n", (double)(probe_now_ns() - begin_ns) / 1e9);
        begin_ns = probe_now_ns();
        use(2);
        fprintf(stderr, "another communicator: %.2f s\n", (double)(probe_now_ns() - begin_ns) / 1e9);
        exit(0);
    }
    bool hung = hangs(child);
    fprintf(stderr, "in all: %.2f s\n%d hung\n", (double)(probe_now_ns() - begin_ns) / 1e9, hung);
}

static _Atomic bool started;

static void *use_in_thread(void *unused)
{
    started = true;
    use(1);
    return unused;
}

/* While another thread is in the first init of the process, forks a child that has its own communicator. */
static bool fork_in_first_init(int moment)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, use_in_thread, NULL) != 0)
        _exit(2);
    while (!started)
        continue;
    for (volatile int i = 0; i < moment; i++)
        continue;
    pid_t child = fork();
    if (child == 0) {
        use(2);
        exit(0);
    }
    bool hung = hangs(child);
    pthread_join(thread, NULL);
    return hung;
}

void probe_fork_in_first_init(void)
{
    int hung = 0;
    for (int i = 0; i < FORKS && hung < 1; i++) {
        int status = 0;
        pid_t fresh = fork();
        if (fresh == 0)
            _exit(fork_in_first_init(i * 150));
        waitpid(fresh, &status, 0);
        hung += status != 0;
    }
    fprintf(stderr, "%d hung\n", hung);
}

/* A child of a parent whose file is open. */
void probe_fork_on_hanging_disk(void)
{
    void *context = probe_init(1);
    probe_play_task(context, NULL, 1);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    bool hung = hangs(child);
    fake_finalize(&probe_plugin, context);
    fprintf(stderr, "%d hung\n", hung);
}

/* An NCCL that knows a larger table would find this after ours. */
void probe_reserved_words(void)
{
    const char *table = (const char *)probe_plugin.table;
    uint64_t words[16];
    int set = 0;
    memcpy(words, table + 48, sizeof(words));
    for (int i = 0; i < 16; i++)
        set += words[i] != 0;
    fprintf(stderr, "%d set\n", set);
}

static void delete_directory(const char *path)
{
    DIR *directory = opendir(path);
    struct dirent *entry;
    if (!directory)
        _exit(2);
    while ((entry = readdir(directory)))
        (void)unlinkat(dirfd(directory), entry->d_name, 0);
    closedir(directory);
    if (rmdir(path) != 0)
        _exit(2);
}

/* The directory is removed while operations are recorded; some more follow. */
void probe_deleted_directory(void)
{
    void *context = probe_init(1);
    probe_play_task(context, NULL, 1);
    delete_directory(getenv("NCCLPROF_DIR"));
    for (int i = 0; i < 40; i++) {
        probe_play_task(context, NULL, (uint64_t)i + 2);
        usleep(50000);
    }
    fake_finalize(&probe_plugin, context);
}

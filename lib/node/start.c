/* The start of the sampler, and what it could read here. */
#include "node/internal.h"
#include "node/node.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct start {
    const struct node_options *options;
    struct node_root root;
};

static void run(void *context)
{
    const struct start *start = context;
    const struct node_options *options = start->options;
    /* Otherwise programs that search for the command by its words would find the sampler. */
    for (size_t i = 0; i < options->word_count; i++)
        memset(options->words[i], '\0', strlen(options->words[i]));
    node_process_step_back();
    node_sampler_run(options, start->root);
}

int node_start(const struct node_options *options, struct error *error)
{
    struct node_files files;
    struct node_stat stat;
    struct start start = {options, {getpid(), 0}};
    node_files_open(&files, "");
    int is_known = node_stat_read(&files, getpid(), &stat) == 0;
    node_files_close(&files);
    if (!is_known)
        return error_set(error, "cannot read /proc");
    start.root.start = stat.start;
    return node_process_detach(run, &start) ? error_set_errno(error, errno, "cannot start the sampler") : 0;
}

static int describe(struct buffer *text, const char *name, int is_readable)
{
    return is_readable ? buffer_printf(text, "%s: readable\n", name)
                       : buffer_printf(text, "%s: not readable: %s\n", name, strerror(errno));
}

int node_describe(struct buffer *text, struct error *error)
{
    static const char *const paths[] = {"stat", "pressure/cpu", "meminfo", "net/dev", NULL};
    struct node_files files;
    struct node_tasks tasks;
    struct node_kernel kernel;
    char content[64], name[64];
    int wrong = 0;
    node_files_open(&files, "");
    for (const char *const *path = paths; *path; path++) {
        snprintf(name, sizeof name, "/proc/%s", *path);
        wrong |= describe(text, name, node_read(files.proc, *path, content, sizeof content) > 0);
    }
    node_tasks_init(&tasks, &files);
    wrong |= buffer_printf(text, "waiting times of threads (/proc/PID/schedstat): %s\n",
                           tasks.has_schedule ? "readable" : "not recorded by this kernel");
    node_tasks_release(&tasks);
    wrong |= describe(text, "kernel messages (/dev/kmsg)", node_kernel_open(&kernel, &files) == 0);
    node_kernel_close(&kernel);
    int64_t ports = node_count_ports(&files);
    wrong |= buffer_printf(text, "InfiniBand and RoCE: %s%lld port%s\n", ports ? "" : "none, ",
                           (long long)ports, ports == 1 ? "" : "s");
    wrong |= node_gpu_describe(text);
    node_files_close(&files);
    return wrong ? error_no_memory(error) : 0;
}

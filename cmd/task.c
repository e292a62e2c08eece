#include "cmd/task.h"

#include "base/buffer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_TASKS = 1 << 20 };

/* A launcher's words for it. mpirun under Slurm sets both: the innermost comes first. */
static const struct {
    const char *number;
    const char *count;
    const char *job;
} launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "SLURM_JOB_ID"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_JOB_ID"},
    {"PMI_RANK", "PMI_SIZE", "SLURM_JOB_ID"},
};

static int read_number(const char *text, int64_t *number)
{
    char *end;
    errno = 0;
    long long value = text ? strtoll(text, &end, 10) : -1;
    if (!text || end == text || *end || errno || value < 0 || value > MOST_TASKS)
        return -1;
    *number = value;
    return 0;
}

void task_find(struct task *task)
{
    *task = (struct task){.count = 1};
    if (gethostname(task->host, sizeof task->host - 1) || !*task->host)
        memcpy(task->host, "localhost", sizeof "localhost");
    /* One machine may be several of Slurm's nodes. */
    const char *node = getenv("SLURMD_NODENAME");
    if (node && *node && strlen(node) < sizeof task->host)
        memcpy(task->host, node, strlen(node) + 1);
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        int64_t number, count;
        const char *job = getenv(launchers[i].job);
        if (read_number(getenv(launchers[i].number), &number) ||
            read_number(getenv(launchers[i].count), &count) || number >= count)
            continue;
        task->number = number;
        task->count = count;
        if (job && strlen(job) < sizeof task->job)
            memcpy(task->job, job, strlen(job) + 1);
        return;
    }
}

int task_parse(struct task *task, const char *text, struct error *error)
{
    const char *slash = strchr(text, '/');
    char number[24];
    if (slash && (size_t)(slash - text) < sizeof number) {
        memcpy(number, text, (size_t)(slash - text));
        number[slash - text] = '\0';
        if (!read_number(number, &task->number) && !read_number(slash + 1, &task->count) &&
            task->number < task->count)
            return 0;
    }
    return error_set(error, "invalid --range '%s': expected auto or K/N, with K from 0 to N - 1", text);
}

static int append(struct buffer *name, const struct task *task, char letter)
{
    switch (letter) {
    case 't':
        return buffer_printf(name, "%" PRId64, task->number);
    case 'n':
        return buffer_printf(name, "%" PRId64, task->count);
    case 'h':
        return buffer_append_text(name, task->host);
    case 'j':
        return buffer_append_text(name, *task->job ? task->job : "0");
    default:
        return buffer_append_byte(name, '%');
    }
}

char *task_name(const struct task *task, const char *pattern, struct error *error)
{
    struct buffer name = BUFFER_INIT;
    for (const char *at = pattern; *at; at++) {
        if (*at == '%' && (!at[1] || !strchr("tnhj%", at[1]))) {
            buffer_release(&name);
            error_set(error, "invalid shard name '%s': %% must be followed by t, n, h, j or %%", pattern);
            return NULL;
        }
        if (*at == '%' ? append(&name, task, *++at) : buffer_append_byte(&name, *at)) {
            buffer_release(&name);
            error_no_memory(error);
            return NULL;
        }
    }
    return buffer_detach(&name);
}

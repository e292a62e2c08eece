#ifndef NCCLPROF_CMD_TASK_H
#define NCCLPROF_CMD_TASK_H

#include "base/error.h"

#include <stdint.h>

/* Which of the tasks of a job this process is, as Slurm, Open MPI or another MPI's launcher tells it. */
struct task {
    int64_t number; /* 0 where nobody says, as of a single one */
    int64_t count;  /* 1 likewise */
    char host[256];
    char job[128]; /* "" where nobody says; the same when it is queued again */
};

void task_find(struct task *task);

/* "K/N", K from 0, into number and count. -1 with `error` set. */
int task_parse(struct task *task, const char *text, struct error *error);

/*
 * A file's name for this task: %t in `pattern` is its number, %n how many there are, %h the host, %j the job,
 * %% a per cent sign. Owned by the caller; NULL with `error` set.
 */
char *task_name(const struct task *task, const char *pattern, struct error *error);

#endif

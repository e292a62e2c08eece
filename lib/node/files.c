/* Small files of the kernel, and clocks. */
#include "node/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int open_folder(const char *root, const char *name)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s", root, name);
    return length > 0 && (size_t)length < sizeof path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

void node_files_open(struct node_files *files, const char *root)
{
    files->proc = open_folder(root, "proc");
    files->sys = open_folder(root, "sys");
    files->dev = open_folder(root, "dev");
}

static void close_if_open(int file)
{
    if (file >= 0)
        close(file);
}

void node_files_close(struct node_files *files)
{
    close_if_open(files->proc);
    close_if_open(files->sys);
    close_if_open(files->dev);
    *files = (struct node_files){-1, -1, -1};
}

ssize_t node_read(int folder, const char *path, char *text, size_t size)
{
    int file = folder < 0 ? -1 : openat(folder, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    text[0] = '\0';
    if (file < 0)
        return -1;
    size_t length = 0;
    ssize_t got = 0;
    while (length < size - 1 && (got = read(file, text + length, size - 1 - length)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            break;
        length += (size_t)got;
    }
    int number = errno;
    close(file);
    text[length] = '\0';
    errno = number;
    return got < 0 && length == 0 ? -1 : (ssize_t)length;
}

int64_t node_number_after(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL) {
        char *end;
        if (strncmp(line, word, length) != 0)
            continue;
        long long number = strtoll(line + length, &end, 10);
        if (end != line + length && number >= 0)
            return number;
    }
    return -1;
}

int node_numbers(const char *text, uint64_t *numbers, int count)
{
    int found = 0;
    for (char *end; found < count; found++, text = end) {
        numbers[found] = strtoull(text, &end, 10);
        if (end == text)
            break;
    }
    return found;
}

int64_t node_read_number(int folder, const char *path)
{
    char text[64];
    return node_read(folder, path, text, sizeof text) > 0 ? node_number_after(text, "") : -1;
}

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    return clock_gettime(clock, &now) ? 0 : (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t node_monotonic_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

int64_t node_realtime_ns(void)
{
    return clock_ns(CLOCK_REALTIME);
}

int64_t node_own_cpu_ns(void)
{
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

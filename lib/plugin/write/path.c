/* The output path, and what the environment of a launcher says about the rank. */
#include "plugin/write/write.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const launchers[][2] = {
    {"RANK", "LOCAL_RANK"}, /* torchrun; first, because it is often started by one of the others */
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"SLURM_PROCID", "SLURM_LOCALID"},
    {"PMI_RANK", "MPI_LOCALRANKID"},
    {"PMIX_RANK", "PMIX_LOCAL_RANK"},
};

static const char *value_of(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

struct launcher_rank launcher_rank(void)
{
    for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
        const char *global = value_of(launchers[i][0]);
        if (global)
            return (struct launcher_rank){global, value_of(launchers[i][1])};
    }
    return (struct launcher_rank){NULL, NULL};
}

#define NAMES_TRIED 1000

static void make_safe(char *text)
{
    for (char *at = text; *at; at++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", *at))
            *at = '_';
    if (text[0] == '.')
        text[0] = '_';
}

void path_host(char *host, size_t size)
{
    if (gethostname(host, size) != 0)
        snprintf(host, size, "unknown");
    host[size - 1] = '\0';
    make_safe(host);
}

void path_rank(char *text, size_t size, int rank)
{
    const char *told = launcher_rank().global;
    if (told)
        snprintf(text, size, "%s", told);
    else
        snprintf(text, size, "%d", rank);
    make_safe(text);
}

static int append(char *path, size_t size, size_t *length, const char *more)
{
    size_t bytes = strlen(more);
    if (bytes >= size - *length)
        return -1;
    memcpy(path + *length, more, bytes + 1);
    *length += bytes;
    return 0;
}

int path_expand(char *path, size_t size, const char *pattern, int rank, const char *suffix)
{
    char host[256];
    char process[16];
    char rank_name[32];
    path_host(host, sizeof(host));
    snprintf(process, sizeof(process), "%ld", (long)getpid());
    path_rank(rank_name, sizeof(rank_name), rank);
    size_t length = 0;
    path[0] = '\0';
    for (const char *at = pattern; *at; at++) {
        char single[2] = {*at, '\0'};
        const char *more = single;
        if (*at == '%' && at[1] && strchr("hpr%", at[1])) {
            at++;
            more = *at == 'h' ? host : *at == 'p' ? process : *at == 'r' ? rank_name : "%";
        }
        if (append(path, size, &length, more) != 0)
            return -1;
    }
    return append(path, size, &length, suffix);
}

static int make_directories(const char *path)
{
    char directory[4096];
    if (strlen(path) >= sizeof(directory)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(directory, path, strlen(path) + 1);
    for (char *slash = strchr(directory + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(directory, 0700) != 0 && errno != EEXIST)
            return -1;
        *slash = '/';
    }
    return 0;
}

int path_create(char *path, size_t size, const char *suffix)
{
    if (make_directories(path) != 0)
        return -1;
    size_t stem = strlen(path) - strlen(suffix);
    for (int attempt = 1; attempt <= NAMES_TRIED; attempt++) {
        int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (file >= 0 || errno != EEXIST)
            return file;
        if (stem + strlen(suffix) + 8 > size) {
            errno = ENAMETOOLONG;
            return -1;
        }
        snprintf(path + stem, size - stem, "-%d%s", attempt, suffix);
    }
    return -1;
}

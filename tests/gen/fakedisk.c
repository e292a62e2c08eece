/*
 * A library to preload that simulates a file system that hangs or becomes full, for the files below
 * FAKEDISK_UNDER. FAKEDISK_HANGS is a call that never returns, or `all`, or `child`: all calls of a process
 * that is forked later. FAKEDISK_FREE is the number of bytes free at first or, with FAKEDISK_BLOCKS, the
 * number of blocks of 4096 bytes that stay free. With FAKEDISK_NO_LINKS files have no names.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static _Atomic unsigned long long written;
static pid_t first_process;

__attribute__((constructor)) static void library_loads(void)
{
    first_process = getpid();
}

static bool is_below(const char *path)
{
    const char *under = getenv("FAKEDISK_UNDER");
    return under && *under && strncmp(path, under, strlen(under)) == 0;
}

static bool is_file_below(int file)
{
    char link[64];
    char path[4096];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof(path) - 1);
    if (length < 0)
        return false;
    path[length] = '\0';
    return is_below(path);
}

static void meet(const char *call, bool below)
{
    const char *hangs = below ? getenv("FAKEDISK_HANGS") : NULL;
    bool is_child = hangs && strcmp(hangs, "child") == 0 && getpid() != first_process;
    while (hangs && (is_child || strcmp(hangs, call) == 0 || strcmp(hangs, "all") == 0))
        sleep(1000);
}

/* ISO C has no cast from the address of an object to that of a function. */
#define NEXT(function, name)                        \
    do {                                            \
        void *next = dlsym(RTLD_NEXT, name);        \
        memcpy(&function, &next, sizeof(function)); \
    } while (0)

int mkdir(const char *path, mode_t mode)
{
    int (*real)(const char *, mode_t);
    NEXT(real, "mkdir");
    meet("mkdir", is_below(path));
    return real(path, mode);
}

static int open_by(const char *name, const char *path, int flags, mode_t mode)
{
    int (*real)(const char *, int, ...);
    NEXT(real, name);
    meet("open", (flags & O_CREAT) && is_below(path));
    return real(path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
    va_end(more);
    return open_by("open", path, flags, mode);
}

int open64(const char *path, int flags, ...);

int open64(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
    va_end(more);
    return open_by("open64", path, flags, mode);
}

ssize_t write(int file, const void *bytes, size_t length)
{
    ssize_t (*real)(int, const void *, size_t);
    NEXT(real, "write");
    bool below = is_file_below(file);
    meet("write", below);
    ssize_t done = real(file, bytes, length);
    if (below && done > 0)
        written += (unsigned long long)done;
    return done;
}

int fstat(int file, struct stat *status)
{
    int (*real)(int, struct stat *);
    NEXT(real, "fstat");
    bool below = is_file_below(file);
    meet("fstat", below);
    int result = real(file, status);
    if (result == 0 && below && getenv("FAKEDISK_NO_LINKS"))
        status->st_nlink = 0;
    return result;
}

int close(int file)
{
    int (*real)(int);
    NEXT(real, "close");
    meet("close", is_file_below(file));
    return real(file);
}

int fstatvfs(int file, struct statvfs *status)
{
    int (*real)(int, struct statvfs *);
    NEXT(real, "fstatvfs");
    const char *free_bytes = getenv("FAKEDISK_FREE");
    int result = real(file, status);
    if (result != 0 || !free_bytes || !is_file_below(file))
        return result;
    unsigned long long left = strtoull(free_bytes, NULL, 10);
    bool has_blocks = getenv("FAKEDISK_BLOCKS");
    status->f_frsize = has_blocks ? 4096 : 1;
    status->f_blocks = has_blocks ? left + (1 << 20) : 1 << 30;
    status->f_bavail = has_blocks ? left : left > written ? left - written : 0;
    return 0;
}

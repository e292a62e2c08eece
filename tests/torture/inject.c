/*
 * A library to preload. Makes one call of a kind fail, the one with the number FAULT_AT.
 *
 *     FAULT_KIND=memory FAULT_AT=17 LD_PRELOAD=build/torture/inject.so build/ncclprof ...
 *
 * FAULT_KIND is memory, step, write, read, open or thread. With FAULT_LASTS=1 every later call fails, too.
 * Without FAULT_AT none fails. If FAULT_COUNT names a file, the number of calls and the number of memory
 * blocks that were not freed are written to it at exit.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum kind { MEMORY, STEP, WRITE, READ, OPEN, THREAD, KINDS };

static const char *const kind_names[KINDS] = {"memory", "step", "write", "read", "open", "thread"};

static enum kind failing = KINDS;
static long fails_at;
static int lasts;
static int stopped;
static atomic_long calls;
static atomic_long blocks;

static int fails(enum kind kind)
{
    if (kind != failing || stopped)
        return 0;
    long number = atomic_fetch_add(&calls, 1) + 1;
    return fails_at && (number == fails_at || (lasts && number > fails_at));
}

__attribute__((constructor)) static void begin(void)
{
    const char *kind = getenv("FAULT_KIND"), *at = getenv("FAULT_AT");
    lasts = getenv("FAULT_LASTS") != NULL;
    fails_at = at ? strtol(at, NULL, 10) : 0;
    for (int i = 0; i < KINDS; i++)
        if (kind && strcmp(kind, kind_names[i]) == 0)
            failing = (enum kind)i;
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("FAULT_COUNT");
    stopped = 1;
    long left = atomic_load(&blocks);
    FILE *file = path ? fopen(path, "we") : NULL;
    if (!file)
        return;
    fprintf(file, "%ld %ld\n", atomic_load(&calls), left);
    fclose(file);
}

/*
 * The next definition of a function, of the C library or of a sanitizer. POSIX allows the address of an
 * object for a function.
 */
static void look_up(const char *name, void *function)
{
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(function, &found, sizeof found);
}

void *malloc(size_t bytes)
{
    static void *(*next)(size_t);
    if (!next)
        look_up("malloc", &next);
    if (fails(MEMORY))
        return errno = ENOMEM, NULL;
    void *memory = next(bytes);
    blocks += memory != NULL;
    return memory;
}

/* A sanitizer that is starting calls this before calls can be forwarded. It checks for leaks itself. */
#ifndef FOR_SANITIZERS
void free(void *memory)
{
    static void (*next)(void *);
    if (!next)
        look_up("free", &next);
    blocks -= memory != NULL;
    next(memory);
}
#endif

void *calloc(size_t count, size_t bytes)
{
    static void *(*next)(size_t, size_t);
    if (!next)
        look_up("calloc", &next);
    if (fails(MEMORY))
        return errno = ENOMEM, NULL;
    void *memory = next(count, bytes);
    blocks += memory != NULL;
    return memory;
}

void *realloc(void *memory, size_t bytes)
{
    static void *(*next)(void *, size_t);
    if (!next)
        look_up("realloc", &next);
    if (fails(MEMORY))
        return errno = ENOMEM, NULL;
    void *moved = next(memory, bytes);
    blocks += !memory && moved;
    return moved;
}

/* A sanitizer's own versions of these functions do not call these for their memory. */
char *strndup(const char *text, size_t most)
{
    size_t length = strnlen(text, most);
    char *copy = malloc(length + 1);
    if (!copy)
        return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char *strdup(const char *text)
{
    return strndup(text, SIZE_MAX);
}

/*
 * SQLite calls some of its functions itself and reads their result elsewhere, so a faked failure would be
 * only partly effective.
 */
static int is_called_by_sqlite(const void *caller)
{
    Dl_info info;
    return dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "libsqlite3") != NULL;
}

int sqlite3_step(sqlite3_stmt *statement)
{
    static int (*next)(sqlite3_stmt *);
    if (!next)
        look_up("sqlite3_step", &next);
    if (is_called_by_sqlite(__builtin_return_address(0)))
        return next(statement);
    return fails(STEP) ? SQLITE_IOERR : next(statement);
}

int sqlite3_exec(sqlite3 *handle, const char *sql, int (*row)(void *, int, char **, char **), void *context,
                 char **message)
{
    static int (*next)(sqlite3 *, const char *, int (*)(void *, int, char **, char **), void *, char **);
    if (!next)
        look_up("sqlite3_exec", &next);
    return fails(STEP) ? SQLITE_IOERR : next(handle, sql, row, context, message);
}

ssize_t write(int file, const void *bytes, size_t length)
{
    static ssize_t (*next)(int, const void *, size_t);
    if (!next)
        look_up("write", &next);
    return fails(WRITE) ? (errno = ENOSPC, -1) : next(file, bytes, length);
}

ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t offset)
{
    static ssize_t (*next)(int, const void *, size_t, off64_t);
    if (!next)
        look_up("pwrite64", &next);
    return fails(WRITE) ? (errno = ENOSPC, -1) : next(file, bytes, length, offset);
}

ssize_t pwrite(int file, const void *bytes, size_t length, off_t offset)
{
    static ssize_t (*next)(int, const void *, size_t, off_t);
    if (!next)
        look_up("pwrite", &next);
    return fails(WRITE) ? (errno = ENOSPC, -1) : next(file, bytes, length, offset);
}

int ftruncate64(int file, off64_t length)
{
    static int (*next)(int, off64_t);
    if (!next)
        look_up("ftruncate64", &next);
    return fails(WRITE) ? (errno = EIO, -1) : next(file, length);
}

int fsync(int file)
{
    static int (*next)(int);
    if (!next)
        look_up("fsync", &next);
    return fails(WRITE) ? (errno = EIO, -1) : next(file);
}

int fdatasync(int file)
{
    static int (*next)(int);
    if (!next)
        look_up("fdatasync", &next);
    return fails(WRITE) ? (errno = EIO, -1) : next(file);
}

int unlink(const char *path)
{
    static int (*next)(const char *);
    if (!next)
        look_up("unlink", &next);
    return fails(WRITE) ? (errno = EIO, -1) : next(path);
}

ssize_t read(int file, void *bytes, size_t length)
{
    static ssize_t (*next)(int, void *, size_t);
    if (!next)
        look_up("read", &next);
    return fails(READ) ? (errno = EIO, -1) : next(file, bytes, length);
}

ssize_t pread64(int file, void *bytes, size_t length, off64_t offset)
{
    static ssize_t (*next)(int, void *, size_t, off64_t);
    if (!next)
        look_up("pread64", &next);
    return fails(READ) ? (errno = EIO, -1) : next(file, bytes, length, offset);
}

ssize_t pread(int file, void *bytes, size_t length, off_t offset)
{
    static ssize_t (*next)(int, void *, size_t, off_t);
    if (!next)
        look_up("pread", &next);
    return fails(READ) ? (errno = EIO, -1) : next(file, bytes, length, offset);
}

/* Under both names: compiler flags decide which one a program calls. */
#define OPEN_LIKE(name)                                                      \
    int name(const char *path, int flags, ...)                               \
    {                                                                        \
        static int (*next)(const char *, int, ...);                          \
        va_list arguments;                                                   \
        va_start(arguments, flags);                                          \
        mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;       \
        va_end(arguments);                                                   \
        if (!next)                                                           \
            look_up(#name, &next);                                           \
        return fails(OPEN) ? (errno = EMFILE, -1) : next(path, flags, mode); \
    }

OPEN_LIKE(open)
OPEN_LIKE(open64)

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *),
                   void *context)
{
    static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!next)
        look_up("pthread_create", &next);
    return fails(THREAD) ? EAGAIN : next(thread, attributes, routine, context);
}

#include "cmd/record_check.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* The first NCCL that looks for a profiler plugin. */
enum { FIRST_MAJOR = 2, FIRST_MINOR = 23 };

/* The versions of the interface that NCCL may ask a plugin for. */
enum { OLDEST_API = 1, NEWEST_API = 7 };

/* A static program has no loader. */
#ifdef NCCLPROF_STATIC
enum { CAN_LOAD = 0 };
#else
enum { CAN_LOAD = 1 };
#endif

static void tell(const char *what, const char *path)
{
    printf("%-8s%s: ", what, path);
}

/* A range of numbers that the plugin exports a structure for. How many things are wrong. */
static int tell_interfaces(void *plugin)
{
    int first = 0, last = 0;
    for (int version = OLDEST_API; version <= NEWEST_API; version++) {
        char name[32];
        snprintf(name, sizeof name, "ncclProfiler_v%d", version);
        if (!dlsym(plugin, name))
            continue;
        first = first ? first : version;
        last = version;
    }
    if (first)
        printf("ok, profiler interface v%d to v%d\n", first, last);
    else
        printf("can be loaded, but is not a profiler plugin\n");
    return !first;
}

static int check_plugin(void)
{
    const char *path = getenv("NCCL_PROFILER_PLUGIN");
    if (!path)
        return 1;
    tell("plugin", path);
    if (!CAN_LOAD) {
        printf("not checked: this ncclprof is statically linked and cannot load libraries\n");
        return 0;
    }
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!plugin) {
        printf("cannot be loaded: %s\n", dlerror());
        return 1;
    }
    /* It stays: a library that is left may have begun threads. */
    return tell_interfaces(plugin);
}

/* "2.28.9": whether it begins with three numbers. */
static int parse_version(const char *text, int version[3])
{
    for (int i = 0; i < 3; i++) {
        char *end;
        long number = *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : -1;
        if (number < 0 || number > INT_MAX || (i < 2 && *end != '.'))
            return 0;
        version[i] = (int)number;
        text = end + 1;
    }
    return 1;
}

/* NCCL says its version in a text of its own, wherever it is linked in. 0 when there is none in `path`. */
static int read_version(const char *path, int version[3])
{
    static const char mark[] = "NCCL version ";
    struct stat status;
    int found = 0, file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        size_t length = (size_t)status.st_size;
        const char *bytes = mmap(NULL, length, PROT_READ, MAP_PRIVATE, file, 0);
        const char *at = bytes;
        while (bytes != MAP_FAILED && !found &&
               (at = memmem(at, length - (size_t)(at - bytes), mark, strlen(mark)))) {
            char text[32] = "";
            at += strlen(mark);
            memcpy(text, at, length - (size_t)(at - bytes) < 31 ? length - (size_t)(at - bytes) : 31);
            found = parse_version(text, version);
        }
        if (bytes != MAP_FAILED)
            munmap((void *)(uintptr_t)bytes, length);
    }
    close(file);
    return found;
}

/* How many things are wrong; -1 where it is no NCCL. */
static int check_library(const char *path)
{
    int version[3];
    if (!read_version(path, version))
        return -1;
    tell("NCCL", path);
    printf("version %d.%d.%d, ", version[0], version[1], version[2]);
    if (version[0] < FIRST_MAJOR || (version[0] == FIRST_MAJOR && version[1] < FIRST_MINOR)) {
        printf("does not support profiler plugins; NCCL %d.%d is the first version that does\n", FIRST_MAJOR,
               FIRST_MINOR);
        return 1;
    }
    printf("supports profiler plugins\n");
    return 0;
}

/* Those that a pattern leads to, in which %s is `root`. How many were NCCL's; *wrong grows. */
static int check_pattern(const char *pattern, const char *root, int *wrong)
{
    char text[PATH_MAX];
    glob_t found;
    int seen = 0, length = snprintf(text, sizeof text, "%s%s", root, pattern);
    if (length < 0 || (size_t)length >= sizeof text || glob(text, 0, NULL, &found))
        return 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        int outcome = check_library(found.gl_pathv[i]);
        seen += outcome >= 0;
        *wrong += outcome > 0;
    }
    globfree(&found);
    return seen;
}

/* The directories of a list with colons between. */
static int check_list(const char *list, int *wrong)
{
    int seen = 0;
    while (list && *list) {
        char root[PATH_MAX];
        size_t length = strcspn(list, ":");
        if (length > 0 && length < sizeof root) {
            snprintf(root, sizeof root, "%.*s", (int)length, list);
            seen += check_pattern("/libnccl.so*[0-9]", root, wrong);
        }
        list += length + (list[length] == ':');
    }
    return seen;
}

/* Where the loader, PyTorch's package and CUDA's have it. */
static int check_nccl(void)
{
    static const char *const roots[] = {"VIRTUAL_ENV", "CONDA_PREFIX", "HOME"};
    static const char *const packages[] = {
        "/lib/python3*/site-packages/nvidia/nccl/lib/libnccl.so*[0-9]",
        "/.local/lib/python3*/site-packages/nvidia/nccl/lib/libnccl.so*[0-9]",
        "/lib/python3*/dist-packages/nvidia/nccl/lib/libnccl.so*[0-9]",
    };
    static const char *const places[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/local/lib",
                                         "/usr/local/cuda/lib64", "/usr/lib/aarch64-linux-gnu"};
    int wrong = 0, seen = check_list(getenv("LD_LIBRARY_PATH"), &wrong);
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
        for (size_t k = 0; getenv(roots[i]) && k < sizeof packages / sizeof *packages; k++)
            seen += check_pattern(packages[k], getenv(roots[i]), &wrong);
    for (size_t k = 0; k < sizeof packages / sizeof *packages; k++)
        seen += check_pattern(packages[k], "/usr", &wrong) + check_pattern(packages[k], "/usr/local", &wrong);
    for (size_t i = 0; !seen && i < sizeof places / sizeof *places; i++)
        seen += check_pattern("/libnccl.so*[0-9]", places[i], &wrong);
    if (!seen)
        printf(
            "%-8snot found in the library and Python paths; the job may use its own, version %d.%d or "
            "later\n",
            "NCCL", FIRST_MAJOR, FIRST_MINOR);
    return wrong;
}

static int check_room(void)
{
    struct statvfs room;
    const char *path = getenv("NCCLPROF_DIR");
    if (!path)
        return 1;
    tell("traces", path);
    if (strchr(path, '%')) {
        printf("not checked: each process replaces the %% patterns in this path\n");
        return 0;
    }
    if (access(path, W_OK) || statvfs(path, &room)) {
        printf("not writable\n");
        return 1;
    }
    printf("writable, %.1f GB free\n", (double)room.f_bavail * (double)room.f_frsize / 1e9);
    return 0;
}

int record_check(void)
{
    return check_plugin() + check_nccl() + check_room();
}

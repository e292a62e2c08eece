/*
 * The command `record`: runs a command with the profiler plugin, which gets its settings from the
 * environment. `record --check` reports whether this can work here.
 */
#include "base/base.h"
#include "cmd/internal.h"

#include <dlfcn.h>
#include <errno.h>
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

/* The first NCCL that loads profiler plugins. */
enum { FIRST_MAJOR = 2, FIRST_MINOR = 23 };

/* The interface versions that NCCL may request from a plugin. */
enum { OLDEST_API = 1, NEWEST_API = 7 };

/* A static program has no dynamic loader. */
#ifdef NCCLPROF_STATIC
enum { CAN_LOAD = 0 };
#else
enum { CAN_LOAD = 1 };
#endif

static void tell(const char *what, const char *path)
{
    printf("%-8s%s: ", what, path);
}

/*
 * Prints the range of interface versions for which the plugin exports a structure. Returns the number of
 * problems.
 */
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
    /* The library stays loaded, because it may have started threads. */
    return tell_interfaces(plugin);
}

/* Parses "2.28.9". Returns whether the text begins with three numbers. */
static int parse_version(const char *text, int version[3])
{
    for (int i = 0; i < 3; i++) {
        char *end;
        long number = is_digit(*text) ? strtol(text, &end, 10) : -1;
        if (number < 0 || number > INT_MAX || (i < 2 && *end != '.'))
            return 0;
        version[i] = (int)number;
        text = end + 1;
    }
    return 1;
}

/*
 * NCCL contains its version as a text, including where it is linked statically. Returns 0 if `path` has none.
 */
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

/* Returns the number of problems, or -1 if the library is not NCCL. */
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

/*
 * Checks the files that match a pattern, in which %s is `root`. Returns how many of them are NCCL; adds
 * problems to *wrong.
 */
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

/* Checks the directories of a colon-separated list. */
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

/* Checks the places where the loader, PyTorch's package and CUDA's have NCCL. */
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

/*
 * `record --check`: prints on standard output, one line each, whether the plugin can be loaded, which NCCL
 * libraries exist and whether they take profiler plugins, where the traces will be written, how much space is
 * left there, and what can be sampled of the node. Reads the environment that the job would get, so call it
 * when that is set. No code of NCCL is loaded. Returns the number of problems; what cannot be determined is
 * not a problem.
 */
static int record_check(void)
{
    int problems = check_plugin() + check_nccl() + check_room();
    record_node_check();
    return problems;
}

/*
 * All settings of the plugin are environment variables, because launchers pass these to the processes that
 * they start.
 */

#define PLUGIN_NAME "libnccl-profiler-ncclprof.so"
#define PREFIX_MARK "nvtx:"

/* Exit statuses of env(1) when the command cannot be run. */
enum { EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

enum {
    OPTION_OUTPUT,
    OPTION_TAGS,
    OPTION_DOMAINS,
    OPTION_FORMAT,
    OPTION_GZIP,
    OPTION_MAX_BYTES,
    OPTION_PLUGIN,
    OPTION_FORCE,
    OPTION_NO_NODE,
    OPTION_CHECK,
    OPTIONS
};

static const char *format(size_t number)
{
    static const char *const formats[] = {"chrome", "inspector", "both"};
    return number < sizeof formats / sizeof *formats ? formats[number] : NULL;
}

static const struct option options[OPTIONS] = {
    [OPTION_OUTPUT] = {.name = "output",
                       .letter = 'o',
                       .argument = "DIR",
                       .help = "write traces to DIR (default: $NCCLPROF_DIR, else ./ncclprof-traces)"},
    [OPTION_TAGS] =
        {.name = "tags",
         .argument = "nvtx|nvtx:PREFIX|call",
         .help =
             "take phase tags from NVTX ranges, from NVTX ranges that start with PREFIX, or only from tag "
             "calls such as ncclprof_tag() (default: nvtx, unless another tool already uses NVTX injection)"},
    [OPTION_DOMAINS] = {.name = "domains",
                        .argument = "NAME,...",
                        .help = "take tags from ranges in these NVTX domains; *: all domains (default: the "
                                "unnamed domain, written 'default')"},
    [OPTION_FORMAT] = {.name = "format", .help = "trace format (default: chrome)", .choice = format},
    [OPTION_GZIP] = {.name = "gzip", .help = "compress the traces"},
    [OPTION_MAX_BYTES] = {.name = "max-bytes",
                          .argument = "BYTES",
                          .help = "stop recording a process when its traces reach this size; suffixes k, M, "
                                  "G, T; 0: no limit (default: 16G)"},
    [OPTION_PLUGIN] = {.name = "plugin",
                       .argument = "FILE",
                       .help = "use this plugin (default: the bundled one)"},
    [OPTION_FORCE] = {.name = "force",
                      .letter = 'f',
                      .help =
                          "replace a profiler plugin or NVTX tool that is already set in the environment"},
    [OPTION_NO_NODE] = {.name = "no-node",
                        .help = "do not sample the node (CPU, GPUs, network, kernel messages) while the "
                                "command runs"},
    [OPTION_CHECK] = {.name = "check",
                      .help = "run no command; check that the plugin loads and that the installed NCCL "
                              "supports profiler plugins, and show where traces will be written and what "
                              "can be sampled of the node"},
};

static int set_variable(const char *name, const char *value, struct error *error)
{
    return value && setenv(name, value, 1) == 0 ? 0 : error_set_errno(error, errno, "cannot set %s", name);
}

static int add_absolute(struct buffer *path, const char *name, struct error *error)
{
    char here[PATH_MAX];
    if (*name != '/' && !getcwd(here, sizeof here))
        return error_set_errno(error, errno, "cannot determine the current directory");
    int outcome = *name == '/' ? buffer_printf(path, "%s", name) : buffer_printf(path, "%s/%s", here, name);
    return outcome ? error_no_memory(error) : 0;
}

/* Looks beside the program, as in the build directory, and in lib beside its bin directory, as installed. */
static int find_bundled(struct buffer *path, struct error *error)
{
    static const char *const places[] = {"", "/../lib"};
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length < 0)
        return error_set_errno(error, errno,
                               "cannot determine the path of the ncclprof program; use --plugin");
    program[length] = '\0';
    char *slash = strrchr(program, '/');
    if (slash)
        *slash = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        buffer_clear(path);
        if (buffer_printf(path, "%s%s/" PLUGIN_NAME, program, places[i]))
            return error_no_memory(error);
        if (access(path->data, F_OK) == 0)
            return 0;
    }
    return error_set(error, PLUGIN_NAME " is neither in '%s' nor in its '../lib'; use --plugin", program);
}

/* NCCL continues without a plugin that it cannot load, and the user would notice only after the job. */
static int find_plugin(struct buffer *path, const char *given, struct error *error)
{
    struct stat status;
    if (given ? add_absolute(path, given, error) : find_bundled(path, error))
        return -1;
    if (access(path->data, R_OK) || stat(path->data, &status))
        return error_set_errno(error, errno, "cannot read the plugin '%s'", path->data);
    return S_ISREG(status.st_mode) ? 0
                                   : error_set(error, "the plugin '%s' is not a regular file", path->data);
}

static int is_same_file(const char *left, const char *right)
{
    struct stat one, other;
    return stat(left, &one) == 0 && stat(right, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

/* True if a variable that names a library names another library than ours. */
static int is_taken(const char *variable, const char *plugin)
{
    const char *value = getenv(variable);
    return value && *value && strcmp(value, "ncclprof") != 0 && strcmp(value, PLUGIN_NAME) != 0 &&
           !is_same_file(value, plugin);
}

static int set_plugin(const char *plugin, int force, struct error *error)
{
    if (!force && is_taken("NCCL_PROFILER_PLUGIN", plugin))
        return error_set(error,
                         "NCCL_PROFILER_PLUGIN is already set to '%s', and NCCL loads only one profiler "
                         "plugin; unset it, or use --force",
                         getenv("NCCL_PROFILER_PLUGIN"));
    return set_variable("NCCL_PROFILER_PLUGIN", plugin, error);
}

/* The plugin would expand patterns in the path; here it is meant literally. */
static int set_directory(const char *path, struct error *error)
{
    struct buffer literal = BUFFER_INIT;
    int outcome = 0;
    for (; *path && outcome == 0; path++)
        outcome = buffer_append_text(&literal, *path == '%' ? "%%" : (const char[]){*path, '\0'});
    outcome = outcome ? error_no_memory(error) : set_variable("NCCLPROF_DIR", literal.data, error);
    buffer_release(&literal);
    return outcome;
}

/* The setting in the environment applies unless -o is given. */
static int choose_directory(const char *given, struct error *error)
{
    const char *before = getenv("NCCLPROF_DIR");
    if (!given && before && *before)
        return 0;
    struct buffer path = BUFFER_INIT;
    int outcome = -1;
    if (add_absolute(&path, given ? given : "ncclprof-traces", error) == 0 &&
        record_make_directories(path.data, error) == 0)
        outcome = set_directory(path.data, error);
    buffer_release(&path);
    return outcome;
}

/* A user's NVTX tool stays in place unless NVTX is requested explicitly. */
static int choose_tags(const struct arguments *arguments, const char *plugin, struct error *error)
{
    static const char injection[] = "NVTX_INJECTION64_PATH";
    const char *tags = arguments->values[OPTION_TAGS];
    int taken = is_taken(injection, plugin), force = arguments->values[OPTION_FORCE] != NULL;
    if (tags && strcmp(tags, "call") == 0)
        return taken || unsetenv(injection) == 0
                   ? 0
                   : error_set_errno(error, errno, "cannot unset %s", injection);
    if (taken && !tags && !force)
        return 0;
    if (taken && !force)
        return error_set(error, "%s is already set to '%s'; unset it, or use --force or --tags call",
                         injection, getenv(injection));
    if (tags && strncmp(tags, PREFIX_MARK, strlen(PREFIX_MARK)) == 0 &&
        set_variable("NCCLPROF_TAG_PREFIX", tags + strlen(PREFIX_MARK), error))
        return -1;
    return set_variable(injection, plugin, error);
}

static int set_if_given(const struct arguments *arguments, int option, const char *name, struct error *error)
{
    const char *value = arguments->values[option];
    return value ? set_variable(name, value, error) : 0;
}

/* NCCL names its threads only if asked, and the sampler knows proxy threads by their names. */
static int name_threads(struct error *error)
{
    return getenv("NCCL_SET_THREAD_NAME") ? 0 : set_variable("NCCL_SET_THREAD_NAME", "1", error);
}

static int prepare(const struct arguments *arguments, struct error *error)
{
    struct buffer plugin = BUFFER_INIT;
    int outcome = -1;
    if (find_plugin(&plugin, arguments->values[OPTION_PLUGIN], error) == 0 &&
        set_plugin(plugin.data, arguments->values[OPTION_FORCE] != NULL, error) == 0 &&
        choose_tags(arguments, plugin.data, error) == 0 &&
        choose_directory(arguments->values[OPTION_OUTPUT], error) == 0 && name_threads(error) == 0 &&
        set_if_given(arguments, OPTION_DOMAINS, "NCCLPROF_TAG_DOMAIN", error) == 0 &&
        set_if_given(arguments, OPTION_FORMAT, "NCCLPROF_FORMAT", error) == 0 &&
        set_if_given(arguments, OPTION_GZIP, "NCCLPROF_GZIP", error) == 0 &&
        set_if_given(arguments, OPTION_MAX_BYTES, "NCCLPROF_MAX_BYTES", error) == 0)
        outcome = 0;
    buffer_release(&plugin);
    return outcome;
}

static int check_tags(const char *tags, struct error *error)
{
    if (!tags || strcmp(tags, "nvtx") == 0 || strcmp(tags, "call") == 0 ||
        (strncmp(tags, PREFIX_MARK, strlen(PREFIX_MARK)) == 0 && tags[strlen(PREFIX_MARK)]))
        return 0;
    return error_set(error, "invalid --tags '%s': expected nvtx, nvtx:PREFIX or call", tags);
}

/* The plugin would silently replace an invalid value by its default. */
static int check_bytes(const char *bytes, struct error *error)
{
    uint64_t value;
    return !bytes || record_parse_bytes(bytes, &value) == 0
               ? 0
               : error_set(error,
                           "invalid --max-bytes '%s': expected a number, optionally followed by k, M, G or T",
                           bytes);
}

static int run(struct context *context, const struct arguments *arguments)
{
    const char *output = arguments->values[OPTION_OUTPUT];
    int is_check = arguments->values[OPTION_CHECK] != NULL;
    if (check_tags(arguments->values[OPTION_TAGS], &context->error) ||
        check_bytes(arguments->values[OPTION_MAX_BYTES], &context->error))
        return EXIT_USAGE;
    if (!is_check && arguments->operand_count == 0) {
        error_set(&context->error, "missing argument COMMAND");
        return EXIT_USAGE;
    }
    if (output && !*output) {
        error_set(&context->error, "--output needs a directory name");
        return EXIT_USAGE;
    }
    if (prepare(arguments, &context->error)) {
        error_wrap(&context->error, "the command was not started");
        return EXIT_NOT_DONE;
    }
    if (is_check && record_check()) {
        error_set(&context->error, "NCCL would record nothing on this machine");
        return EXIT_NOT_DONE;
    }
    if (is_check)
        return EXIT_DONE;
    if (!arguments->values[OPTION_NO_NODE])
        record_node_start(arguments->operands, arguments->operand_count);
    execvp(arguments->operands[0], arguments->operands);
    int number = errno;
    error_set_errno(&context->error, number, "cannot run '%s'", arguments->operands[0]);
    print_error(&context->error);
    return number == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

static const struct option_table table = {
    .operands = "[--] [COMMAND...]",
    .description =
        "Runs COMMAND (a single process, torchrun, srun or mpirun) with an environment in which NCCL loads "
        "the bundled profiler plugin. Afterwards run: ncclprof diagnose DIR",
    .options = options,
    .count = OPTIONS,
    .operands_most = SIZE_MAX,
    .command_as_operand = 1,
};

const struct command command_record = {
    .name = "record",
    .summary = "run a command with the NCCL profiler plugin and write traces",
    .options = &table,
    .run = run,
};

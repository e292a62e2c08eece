#include "base/buffer.h"
#include "cmd/commands.h"
#include "cmd/opt.h"
#include "cmd/print.h"
#include "cmd/record_check.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Everything the plugin is told travels in the environment: launchers hand it to the processes they start. */

#define PLUGIN_NAME "libnccl-profiler-ncclprof.so"
#define PREFIX_MARK "nvtx:"

/* As of env(1), when the command cannot be run. */
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
    [OPTION_CHECK] = {.name = "check",
                      .help = "run no command; check that the plugin loads and that the installed NCCL "
                              "supports profiler plugins, and show where traces will be written"},
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

/* Beside the program, where it was built; or in lib beside its bin, where it was installed. */
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

/* NCCL goes on without a plugin that it cannot load, and nobody would notice before the job's end. */
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

/* Whether a variable that names a library names another one than ours. */
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

static int is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Those above it, too. A directory that is there needs no permission to make it. */
static int make_directories(char *path, struct error *error)
{
    for (size_t at = 1, length = strlen(path); at <= length; at++) {
        if (path[at] != '/' && path[at] != '\0')
            continue;
        path[at] = '\0';
        int number = mkdir(path, 0700) ? errno : 0;
        if (number && !is_directory(path))
            return error_set_errno(error, number, "cannot create directory '%s'", path);
        if (at < length)
            path[at] = '/';
    }
    return access(path, W_OK) ? error_set_errno(error, errno, "cannot write to directory '%s'", path) : 0;
}

/* The plugin would expand patterns in it; this name is meant as it is. */
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

/* What the environment says stands, unless -o is given. */
static int choose_directory(const char *given, struct error *error)
{
    const char *before = getenv("NCCLPROF_DIR");
    if (!given && before && *before)
        return 0;
    struct buffer path = BUFFER_INIT;
    int outcome = -1;
    if (add_absolute(&path, given ? given : "ncclprof-traces", error) == 0 &&
        make_directories(path.data, error) == 0)
        outcome = set_directory(path.data, error);
    buffer_release(&path);
    return outcome;
}

/* A user's NVTX tool keeps its place unless NVTX is asked for by name. */
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

static int prepare(const struct arguments *arguments, struct error *error)
{
    struct buffer plugin = BUFFER_INIT;
    int outcome = -1;
    if (find_plugin(&plugin, arguments->values[OPTION_PLUGIN], error) == 0 &&
        set_plugin(plugin.data, arguments->values[OPTION_FORCE] != NULL, error) == 0 &&
        choose_tags(arguments, plugin.data, error) == 0 &&
        choose_directory(arguments->values[OPTION_OUTPUT], error) == 0 &&
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

/* The plugin would take what makes no sense for its default, and say nothing. */
static int check_bytes(const char *bytes, struct error *error)
{
    static const char units[] = "kmgt";
    size_t digits = bytes ? strspn(bytes, "0123456789") : 0;
    int is_number = digits > 0 && digits <= 19;
    const char *unit = is_number && bytes[digits] ? strchr(units, bytes[digits] | 0x20) : NULL;
    int is_whole = is_number && (unit ? !bytes[digits + 1] : !bytes[digits]);
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    return !bytes || (is_whole && strtoull(bytes, NULL, 10) <= UINT64_MAX >> shift)
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

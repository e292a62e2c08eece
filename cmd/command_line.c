/*
 * The beginning and the end of suggested command lines: how the user starts this program again, and which
 * store or traces it then has to read.
 */
#include "base/base.h"
#include "cmd/internal.h"
#include "input/input.h"
#include "store/store.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether a command of this name in a directory of $PATH is this program. -1: there is no such command. */
static int is_in(const char *directory, size_t length, const char *name, const struct stat *self)
{
    char path[PATH_MAX];
    struct stat status;
    int bytes = snprintf(path, sizeof path, "%.*s/%s", (int)length, directory, name);
    if (*directory != '/' || bytes < 0 || (size_t)bytes >= sizeof path || access(path, X_OK) ||
        stat(path, &status) || !S_ISREG(status.st_mode))
        return -1;
    return status.st_dev == self->st_dev && status.st_ino == self->st_ino;
}

/* Whether a shell in any directory finds this program by its name. */
static int is_on_path(const char *name, const struct stat *self)
{
    const char *at = getenv("PATH");
    while (at && *at) {
        size_t length = strcspn(at, ":");
        int is_it = is_in(at, length, name, self);
        if (is_it >= 0)
            return is_it;
        at += length + (at[length] == ':');
    }
    return 0;
}

/* Appends "ncclprof", or the path of this program where its name alone does not start it. */
int command_line_append_program(struct buffer *text)
{
    static const char self_link[] = "/proc/self/exe", name[] = "ncclprof";
    struct stat self;
    char path[PATH_MAX];
    ssize_t length = readlink(self_link, path, sizeof path - 1);
    if (length <= 0 || stat(self_link, &self) || is_on_path(name, &self))
        return buffer_append_text(text, name);
    path[length] = '\0';
    return access(path, X_OK) ? buffer_append_text(text, name) : text_shell_word(text, path);
}

/* What is neither a file nor a directory, such as a pipe, cannot be read twice. */
static int is_lasting(const char *path)
{
    struct stat status;
    return strcmp(path, "-") != 0 && stat(path, &status) == 0 &&
           (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
}

/* Appends a path that is valid in any directory, or a placeholder. */
static int append_path(const char *path, struct buffer *text)
{
    char *whole = is_lasting(path) ? realpath(path, NULL) : NULL;
    int failed = buffer_append_byte(text, ' ') || text_shell_word(text, whole ? whole : "TRACE");
    free(whole);
    return failed;
}

/* More paths are written as a pattern, if there is one. */
enum { PATHS_LISTED = 3 };

/* The paths as names in one directory, which share their beginning and their end. */
struct pattern {
    char *directory; /* owned */
    char *name;      /* owned: the first name */
    char *latest;    /* owned: the name before; a shell sorts names, and the order numbers the runs */
    size_t begin;    /* number of bytes that all names begin with */
    size_t end;      /* number of bytes that they end with */
    size_t shortest; /* bytes of the shortest name */
};

static size_t smaller(size_t one, size_t other)
{
    return one < other ? one : other;
}

/* Narrows the pattern so that it has one more name. */
static void pattern_take(struct pattern *pattern, const char *name)
{
    size_t own = strlen(pattern->name), other = strlen(name), begin = 0, end = 0;
    pattern->shortest = smaller(pattern->shortest, other);
    while (begin < smaller(pattern->begin, other) && pattern->name[begin] == name[begin])
        begin++;
    while (end < smaller(pattern->end, other) && pattern->name[own - 1 - end] == name[other - 1 - end])
        end++;
    pattern->begin = begin;
    pattern->end = end;
}

/* The number of bytes after the asterisk. */
static size_t pattern_end(const struct pattern *pattern)
{
    return smaller(pattern->end, pattern->shortest - pattern->begin);
}

/* Whether a shell replaces the pattern by this name, among others. */
static int pattern_has(const struct pattern *pattern, const char *name)
{
    size_t own = strlen(pattern->name), other = strlen(name), end = pattern_end(pattern);
    return other >= pattern->begin + end && strncmp(name, pattern->name, pattern->begin) == 0 &&
           strcmp(name + other - end, pattern->name + own - end) == 0 && (*name != '.' || pattern->begin);
}

/* Whether a shell replaces the pattern by `count` names. */
static int pattern_names(const struct pattern *pattern, size_t count)
{
    DIR *directory = opendir(pattern->directory);
    const struct dirent *entry;
    size_t found = 0;
    while (directory && (entry = readdir(directory)))
        found += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
                 pattern_has(pattern, entry->d_name);
    if (directory)
        closedir(directory);
    return found == count;
}

/* Adds a path to the pattern. Returns whether it is in the same directory, and sorted. */
static int pattern_add(struct pattern *pattern, const char *path)
{
    char *whole = realpath(path, NULL), *slash = whole ? strrchr(whole, '/') : NULL;
    int fits = slash && slash > whole && slash[1];
    if (fits) {
        *slash = '\0';
        if (!pattern->directory) {
            pattern->directory = strdup(whole);
            pattern->name = strdup(slash + 1);
            pattern->begin = pattern->end = pattern->shortest = strlen(slash + 1);
        }
        fits = pattern->directory && pattern->name && strcmp(pattern->directory, whole) == 0;
    }
    if (fits) {
        pattern_take(pattern, slash + 1);
        fits = !pattern->latest || strcmp(pattern->latest, slash + 1) < 0;
        free(pattern->latest);
        pattern->latest = strdup(slash + 1);
    }
    free(whole);
    return fits;
}

/* Appends "/data/rank*.json". */
static int pattern_append(const struct pattern *pattern, struct buffer *text)
{
    struct buffer begin = BUFFER_INIT;
    const char *end = pattern->name + strlen(pattern->name) - pattern_end(pattern);
    int failed = buffer_printf(&begin, " %s/%.*s", pattern->directory, (int)pattern->begin, pattern->name) ||
                 buffer_append_byte(text, ' ') || text_shell_word(text, begin.data + 1) ||
                 buffer_append_byte(text, '*') || (*end && text_shell_word(text, end));
    buffer_release(&begin);
    return failed ? -1 : 0;
}

/* Appends a pattern that stands for exactly these paths. *is_done: there is one. */
static int append_pattern(char *const *paths, size_t count, struct buffer *text, int *is_done)
{
    struct pattern pattern = {.directory = NULL};
    size_t taken = 0;
    while (taken < count && pattern_add(&pattern, paths[taken]))
        taken++;
    *is_done = taken == count && pattern_names(&pattern, count);
    int failed = *is_done ? pattern_append(&pattern, text) : 0;
    free(pattern.directory);
    free(pattern.name);
    free(pattern.latest);
    return failed;
}

static int append_paths(char *const *paths, size_t count, struct buffer *text)
{
    int is_done = 0;
    if (count > PATHS_LISTED && append_pattern(paths, count, text, &is_done))
        return -1;
    int lacks = 0;
    for (size_t i = 0; !is_done && i < count; i++) {
        lacks |= !is_lasting(paths[i]);
        if (append_path(paths[i], text))
            return -1;
    }
    return lacks ? buffer_append_text(text, " # save the input as TRACE first") : 0;
}

int command_line_append_operand(const char *path, const char *run, struct buffer *text)
{
    return append_path(path, text) || (run && (buffer_append_byte(text, ':') || text_shell_word(text, run)))
               ? -1
               : 0;
}

int command_line_append(const char *words, const char *path, struct buffer *text)
{
    return is_lasting(path) && (command_line_append_program(text) || buffer_append_byte(text, ' ') ||
                                buffer_append_text(text, words) || append_path(path, text))
               ? -1
               : 0;
}

int command_line_remember(struct context *context, char *const *paths, size_t count)
{
    struct buffer program = BUFFER_INIT, input = BUFFER_INIT;
    int failed =
        command_line_append_program(&program) || (count ? append_paths(paths, count, &input)
                                                        : buffer_append_text(&input, " --store") ||
                                                              append_path(context->given_store_path, &input))
            ? error_no_memory(&context->error)
            : store_set_command(context->store, program.data, input.data, &context->error);
    buffer_release(&program);
    buffer_release(&input);
    return failed ? -1 : 0;
}

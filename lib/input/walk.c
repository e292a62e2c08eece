#include "input/walk.h"

#include "base/array.h"
#include "base/buffer.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEEPEST = 64 };

void walk_init(struct walk *walk)
{
    *walk = (struct walk){.files = NULL};
    map_init(&walk->seen);
}

void walk_release(struct walk *walk)
{
    for (size_t i = 0; i < walk->count; i++) {
        free(walk->files[i].path);
        free(walk->files[i].realpath);
        free(walk->files[i].copy);
        free(walk->files[i].folder);
    }
    for (size_t i = 0; i < walk->note_count; i++)
        free(walk->notes[i]);
    for (size_t i = 0; i < walk->loss_count; i++)
        free(walk->losses[i]);
    free(walk->files);
    free(walk->starts);
    free(walk->notes);
    free(walk->losses);
    map_release(&walk->seen);
    walk_init(walk);
}

static int add_note(struct walk *walk, const char *path, const char *what, struct error *error)
{
    struct buffer note = BUFFER_INIT;
    if (array_reserve((void **)&walk->notes, &walk->note_capacity, walk->note_count + 1,
                      sizeof *walk->notes) ||
        buffer_printf(&note, "%s: %s", path, what)) {
        buffer_release(&note);
        return error_no_memory(error);
    }
    walk->notes[walk->note_count++] = buffer_detach(&note);
    return 0;
}

/* There may have been traces there. */
static int add_loss(struct walk *walk, const char *path, int number, const char *what, struct error *error)
{
    struct buffer loss = BUFFER_INIT;
    if (number == ENOMEM ||
        array_reserve((void **)&walk->losses, &walk->loss_capacity, walk->loss_count + 1,
                      sizeof *walk->losses) ||
        buffer_printf(&loss, "%s: %s", path, what)) {
        buffer_release(&loss);
        return error_no_memory(error);
    }
    walk->losses[walk->loss_count++] = buffer_detach(&loss);
    return 0;
}

static struct map_key key_of(const struct stat *status)
{
    return (struct map_key){{(uint64_t)status->st_dev, (uint64_t)status->st_ino}};
}

int walk_has(const struct walk *walk, const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && map_get(&walk->seen, key_of(&status)) != NULL;
}

/* 1 when the file or directory is new, 0 when it was met before. */
static int meet(struct walk *walk, const struct stat *status, struct error *error)
{
    int is_new = 0;
    const int64_t *start = map_put(&walk->seen, key_of(status), (int64_t)walk->start_count - 1, &is_new);
    if (!start)
        return error_no_memory(error);
    if (*start != (int64_t)walk->start_count - 1)
        walk->starts[walk->start_count - 1].has_known = 1;
    return is_new;
}

/* `absolute` is taken over. */
static int add_file(struct walk *walk, const char *path, char *absolute, struct error *error)
{
    char *copy = strdup(path);
    if (!copy || !absolute ||
        array_reserve((void **)&walk->files, &walk->capacity, walk->count + 1, sizeof *walk->files)) {
        free(copy);
        free(absolute);
        return error_no_memory(error);
    }
    walk->files[walk->count++] =
        (struct walk_file){.path = copy, .realpath = absolute, .start = walk->start_count - 1};
    /* cppcheck-suppress memleak ; the file keeps it */
    return 0;
}

static int add_regular(struct walk *walk, const char *path, struct error *error)
{
    char *absolute = realpath(path, NULL);
    if (!absolute)
        return add_loss(walk, path, errno, strerror(errno), error);
    return add_file(walk, path, absolute, error);
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int by_bytes(const struct dirent **left, const struct dirent **right)
{
    return strcmp((*left)->d_name, (*right)->d_name);
}

static int add_below(struct walk *walk, const char *path, int depth, struct error *error);

static int add_entry(struct walk *walk, const char *path, const char *name, int depth, struct error *error)
{
    struct buffer full = BUFFER_INIT;
    size_t length = strlen(path);
    const char *between = length > 0 && path[length - 1] == '/' ? "" : "/";
    int status = buffer_printf(&full, "%s%s%s", path, between, name)
                     ? error_no_memory(error)
                     : add_below(walk, full.data, depth, error);
    buffer_release(&full);
    return status;
}

static int add_directory(struct walk *walk, const char *path, int depth, struct error *error)
{
    struct dirent **entries;
    int count = scandir(path, &entries, visible, by_bytes);
    int status = 0;
    if (count < 0)
        return add_loss(walk, path, errno, strerror(errno), error);
    for (int i = 0; i < count; i++) {
        if (!status)
            status = add_entry(walk, path, entries[i]->d_name, depth + 1, error);
        free(entries[i]);
    }
    free(entries);
    return status;
}

static int add_below(struct walk *walk, const char *path, int depth, struct error *error)
{
    struct stat status;
    if (stat(path, &status))
        return errno == ENOENT || errno == ELOOP ? add_note(walk, path, strerror(errno), error)
                                                 : add_loss(walk, path, errno, strerror(errno), error);
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
        return add_note(walk, path, "not a regular file, skipped", error);
    if (depth > DEEPEST)
        return add_loss(walk, path, 0, "nested too deeply, skipped", error);
    int is_new = meet(walk, &status, error);
    if (is_new != 1)
        return is_new;
    return S_ISDIR(status.st_mode) ? add_directory(walk, path, depth, error) : add_regular(walk, path, error);
}

/* What a shell puts in place of <(...) leads to a pipe that has no name: another one will bear the same path.
 */
static char *name_of_pipe(const char *path)
{
    char *absolute = realpath(path, NULL);
    return absolute || errno == ENOMEM ? absolute : strdup("-");
}

static int add_start(struct walk *walk, struct error *error)
{
    if (array_reserve((void **)&walk->starts, &walk->start_capacity, walk->start_count + 1,
                      sizeof *walk->starts))
        return error_no_memory(error);
    walk->starts[walk->start_count++] = (struct walk_start){.is_directory = 0};
    return 0;
}

int walk_add(struct walk *walk, const char *path, struct error *error)
{
    struct stat status;
    if (add_start(walk, error))
        return -1;
    if (strcmp(path, "-") == 0)
        return add_file(walk, path, strdup("-"), error);
    if (stat(path, &status))
        return error_set_errno(error, errno, "%s: cannot be found", path);
    if (S_ISFIFO(status.st_mode))
        return add_file(walk, path, name_of_pipe(path), error);
    if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode))
        return error_set(error, "%s: is neither a file nor a directory", path);
    walk->starts[walk->start_count - 1].is_directory = S_ISDIR(status.st_mode);
    return add_below(walk, path, 0, error);
}

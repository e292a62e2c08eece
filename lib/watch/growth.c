#include "watch/growth.h"

#include "base/array.h"
#include "input/walk.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Looking at a job takes so much of one processor at most; a little is left for looking whether files grew.
 */
static const double SHARE = 0.018;

struct grown_file {
    char *path; /* owned */
    struct timespec modified;
    off_t bytes;
    ino_t inode;
};

void growth_init(struct growth *growth)
{
    *growth = (struct growth){.files = NULL};
}

static void release_files(struct grown_file *files, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(files[i].path);
    free(files);
}

void growth_release(struct growth *growth)
{
    release_files(growth->files, growth->count);
    growth_init(growth);
}

static int by_path(const void *a, const void *b)
{
    const struct grown_file *left = a, *right = b;
    return strcmp(left->path, right->path);
}

/* One that is gone by now has no size. */
static int note_file(struct grown_file *file, const char *path)
{
    struct stat status;
    *file = (struct grown_file){.path = strdup(path), .bytes = -1};
    if (stat(path, &status) == 0) {
        file->modified = status.st_mtim;
        file->bytes = status.st_size;
        file->inode = status.st_ino;
    }
    return file->path ? 0 : -1;
}

static struct grown_file *note_files(const struct walk *walk)
{
    struct grown_file *files = array_new(walk->count + 1, sizeof *files);
    for (size_t i = 0; files && i < walk->count; i++)
        if (note_file(&files[i], walk->files[i].path)) {
            release_files(files, i);
            return NULL;
        }
    if (files)
        array_sort(files, walk->count, sizeof *files, by_path);
    return files;
}

/* NULL: it was not there. */
static const struct grown_file *find_file(const struct grown_file *files, size_t count, const char *path)
{
    const struct grown_file wanted = {.path = (char *)(uintptr_t)path};
    return count ? bsearch(&wanted, files, count, sizeof *files, by_path) : NULL;
}

/* A file that was not there, or is not, has. */
static int has_changed(const struct grown_file *before, const struct grown_file *now)
{
    return !before || !now || before->bytes != now->bytes || before->inode != now->inode ||
           memcmp(&before->modified, &now->modified, sizeof now->modified) != 0;
}

/* Whether the files are those of the last look, grown or not. */
static int are_same_names(const struct growth *growth, const struct grown_file *now, size_t count)
{
    if (growth->count != count)
        return 0;
    for (size_t i = 0; i < count; i++)
        if (strcmp(growth->files[i].path, now[i].path) != 0)
            return 0;
    return 1;
}

static void take_out_unchanged(const struct growth *growth, const struct grown_file *now, size_t count,
                               struct walk *walk)
{
    size_t kept = 0;
    for (size_t i = 0; i < walk->count; i++) {
        const char *path = walk->files[i].path;
        if (has_changed(find_file(growth->files, growth->count, path), find_file(now, count, path))) {
            walk->files[kept++] = walk->files[i];
            continue;
        }
        free(walk->files[i].path);
        free(walk->files[i].realpath);
    }
    walk->count = kept;
}

int growth_look(struct growth *growth, struct walk *walk, struct error *error)
{
    size_t count = walk->count;
    struct grown_file *now = note_files(walk);
    if (!now)
        return error_no_memory(error);
    if (are_same_names(growth, now, count))
        take_out_unchanged(growth, now, count, walk);
    release_files(growth->files, growth->count);
    *growth = (struct growth){.files = now, .count = count};
    return 0;
}

double growth_wait_s(double interval_s, double used_s)
{
    double rest_s = used_s / SHARE - used_s;
    return rest_s > interval_s ? rest_s : interval_s;
}

#ifndef NCCLPROF_INPUT_WALK_H
#define NCCLPROF_INPUT_WALK_H

#include "base/error.h"
#include "base/map.h"

#include <stddef.h>

/*
 * The regular files below a set of paths, each once whatever ways lead to it (links of any kind). Directories
 * are searched through; links are followed, but no directory is entered twice. What is not a regular file
 * inside a directory (pipes, sockets, devices, links to nothing) is noted and left out. Names that begin with
 * a dot are left out of directories.
 */
struct walk_file {
    char *path;     /* as reached from the path given; "-" for standard input */
    char *realpath; /* absolute, links resolved; "-" for standard input and other pipes without a name */
    size_t start;   /* which of the paths given led to it */
    size_t copies;  /* other files that are copies of it, or of its beginning; 0 until they are looked for */
    char *copy;     /* path of one of these; NULL */
    char *folder;   /* real path of another that stands for its own, which holds copies of that one's; NULL */
};

/* One of the paths given. */
struct walk_start {
    int is_directory;
    int has_known; /* something in it had been reached from an earlier one */
};

struct walk {
    struct walk_file *files; /* owned; in the order of the paths given, sorted by name inside a directory */
    size_t count;
    size_t capacity;
    struct walk_start *starts; /* owned: one for each walk_add(), failed ones too */
    size_t start_count;
    size_t start_capacity;
    char **notes; /* owned: one sentence for each thing left out */
    size_t note_count;
    size_t note_capacity;
    char **losses; /* owned: one sentence for each place that could not be searched */
    size_t loss_count;
    size_t loss_capacity;
    struct map seen; /* device and inode of every file and directory so far: which start led to it */
};

void walk_init(struct walk *walk);
void walk_release(struct walk *walk);

/*
 * Adds what is at and below `path`. A path that does not exist or may not be read is an error (-1): it was
 * asked for by name; so is being out of memory. A pipe given by name is taken as it is.
 */
int walk_add(struct walk *walk, const char *path, struct error *error);

/* Whether the file at `path`, whatever way leads to it, is among what was added. */
int walk_has(const struct walk *walk, const char *path);

#endif

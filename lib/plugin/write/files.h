/* A process's files, one of each format that is asked for, and whether there is room for more in them. */
#ifndef PLUGIN_WRITE_FILES_H
#define PLUGIN_WRITE_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/write/sink.h"
#include "plugin/write/stop.h"

/* Of a file system at least so much stays free: a twentieth of it, but no more than 1 GiB. */
#define FILES_FREE_BY_SIZE UINT64_MAX

struct files {
    struct sink chrome, inspector; /* file -1: not asked for, or gone */
    uint64_t most_bytes;           /* of both; UINT64_MAX: no limit */
    uint64_t free_bytes;           /* that are to stay free, or FILES_FREE_BY_SIZE */
    uint64_t looked_at_bytes;      /* written when the file system was last asked */
    struct stop stop;              /* why nothing more is written; the first reason holds */
};

/* Names and memory; touches no file. 0; or -1 with errno, and *path says which could not be made. */
int files_prepare(struct files *files, const char *pattern, int rank, bool chrome, bool inspector, bool gzip,
                  const char **path);
/* Makes those that were prepared. Likewise. */
int files_create(struct files *files, const char **path);

/* False, with files->stop, when there is no room for more than last lines. Asks the file system from time to
 * time. */
bool files_have_room(struct files *files);
/* Asks now. */
void files_look(struct files *files);

/* How far the files have come. */
struct files_mark {
    uint64_t chrome_written, inspector_written;
    size_t chrome_length, inspector_length;
};
struct files_mark files_mark(const struct files *files);
/* Forgets what came after it; false when some of that is written already, as of more lines than are kept. */
bool files_go_back(struct files *files, const struct files_mark *mark);

/* Hands everything to the kernel; the array then ends with `ending` until the next flush. */
void files_flush(struct files *files, const char *ending);

void files_close(struct files *files);

#endif

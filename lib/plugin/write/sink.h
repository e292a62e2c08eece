/*
 * One output file: whole lines in, bytes out. After a failed write the file keeps what was complete, further
 * lines are counted and thrown away, and the writer goes on.
 */
#ifndef PLUGIN_WRITE_SINK_H
#define PLUGIN_WRITE_SINK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "plugin/write/text.h"

struct sink_gzip;

struct sink {
    struct text text;
    int file;
    dev_t device; /* which file it is: the job may close our descriptor and open another under its number */
    ino_t inode;
    bool has_ending;     /* the file on disk ends with what sink_flush was given for its end */
    int failure;         /* errno of the write that failed, or 0 */
    uint64_t lines_lost; /* since the failure */
    struct sink_gzip *gzip;
    char path[4096];
};

/* 0; or -1 with errno, and sink->path says what could not be made. */
int sink_open(struct sink *sink, const char *pattern, int rank, const char *suffix, bool gzip);

/* Every line starts here: makes sure that TEXT_LINE_MAX bytes are free. */
static inline struct text *sink_line(struct sink *sink);

/*
 * Hands everything so far to the kernel, readable as it stands (gzip: a whole file, its end overwritten
 * later). The file then ends with `ending`, a few bytes or "", until the next flush or line that goes out.
 */
void sink_flush(struct sink *sink, const char *ending);

void sink_close(struct sink *sink);

/* In a child after fork: lets go of the parent's file without writing to it. */
void sink_abandon(struct sink *sink);

#define SINK_BYTES (512u << 10)

static inline struct text *sink_line(struct sink *sink)
{
    if (sink->text.length > SINK_BYTES - TEXT_LINE_MAX)
        sink_flush(sink, "");
    return &sink->text;
}

#endif

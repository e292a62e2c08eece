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
    uint64_t written; /* bytes, without what only ends the file for now */
    dev_t device; /* which file it is: the job may close our descriptor and open another under its number */
    ino_t inode;
    bool tells_links;    /* its file system counts names: some report 0 of every file */
    bool has_ending;     /* the file on disk ends with what sink_flush was given for its end */
    int failure;         /* errno of the write that failed, or 0 */
    uint64_t lines_lost; /* since the failure */
    off_t last_lines;    /* where whole lines begin that end the file, SINK_LAST_BYTES of them or more; 0:
                            nowhere */
    off_t later_lines;   /* where a write began after that: last_lines as soon as enough was written since */
    struct sink_gzip *gzip;
    char suffix[16];
    char path[4096];
};

/* Name and memory: reads the environment and touches no file. 0, or -1 with errno. */
int sink_prepare(struct sink *sink, const char *pattern, int rank, const char *suffix, bool gzip);
/* Makes the file, and the directories above it. 0; or -1 with errno, and sink->path says what could not be
 * made. */
int sink_create(struct sink *sink);

/* Every line starts here: makes sure that TEXT_LINE_MAX bytes are free. */
static inline struct text *sink_line(struct sink *sink);

/*
 * Hands everything so far to the kernel, readable as it stands (gzip: a whole file, its end overwritten
 * later). The file then ends with `ending`, a few bytes or "", until the next flush or line that goes out.
 */
void sink_flush(struct sink *sink, const char *ending);

/*
 * After a failed write: puts the lines that were begun since, SINK_LAST_BYTES at most, over the last ones of
 * the file, whose room is there even where the disk is full. Nothing where the file is compressed or not ours
 * any more.
 */
void sink_end_with(struct sink *sink);

/* The file is there, but under no name any more: by a remote file system's word, it is not there. */
bool sink_is_deleted(const struct sink *sink);

void sink_close(struct sink *sink);

#define SINK_BYTES (512u << 10)
#define SINK_LAST_BYTES 1024

static inline struct text *sink_line(struct sink *sink)
{
    if (sink->text.length > SINK_BYTES - TEXT_LINE_MAX)
        sink_flush(sink, "");
    return &sink->text;
}

#endif

#ifndef NCCLPROF_CMD_PROGRESS_H
#define NCCLPROF_CMD_PROGRESS_H

#include <stdint.h>
#include <time.h>

/* A line on a terminal that tells how far an ingest is; nothing anywhere else. */
struct progress {
    int shown; /* standard error is a terminal and nobody asked for quiet */
    int drawn;
    uint64_t files;
    uint64_t total_files;
    uint64_t bytes;       /* read so far, by all workers */
    uint64_t total_bytes; /* 0: not known */
    struct timespec begun;
    struct timespec last;
};

void progress_begin(struct progress *progress, int quiet, uint64_t total_files, uint64_t total_bytes);

/* Draws, some times a second. */
void progress_show(struct progress *progress);

/* Takes the line away, so that others can print. */
void progress_clear(struct progress *progress);

/* Seconds since progress_begin. */
double progress_seconds(const struct progress *progress);

#endif

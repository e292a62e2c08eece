/* The one thread that turns records into files. Nobody waits for it but the first init, finalize and exit,
 * and they not for long. */
#ifndef PLUGIN_WRITE_WRITER_H
#define PLUGIN_WRITE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin/write/files.h"

struct writer;

/* What a process may write: by default, and the least that can be set. */
#define WRITER_MOST_BYTES (UINT64_C(16) << 30)
#define WRITER_LEAST_BYTES (UINT64_C(64) << 10)

struct writer_settings {
    char path[4096]; /* file pattern, directory included, without suffix */
    bool chrome;     /* which files */
    bool inspector;
    bool gzip;
    uint64_t buffer_slots;   /* of each thread's ring */
    uint32_t pending_events; /* most that wait for what is still to come of them */
    uint64_t flush_ns;
    uint64_t most_bytes; /* of both files; UINT64_MAX: no limit */
    uint64_t free_bytes; /* that are to stay free on their file system; or FILES_FREE_BY_SIZE */
    /* On the writer thread, when nothing more will be recorded: the files cannot be made or have come to
     * their end. */
    void (*stopped)(void);
};

struct writer_origin {
    unsigned api;
    uint32_t mask; /* enum api_event: of the first communicator */
    int nccl_version;
    int rank; /* of the first communicator, where no launcher tells a rank */
};

/* Starts the thread, which makes the files; null with a sentence in failure. Reads the environment, touches
 * no file. */
struct writer *writer_start(const struct writer_settings *settings, const struct writer_origin *origin,
                            char *failure, size_t failure_bytes);

/*
 * False when nothing more will be recorded. Waits for the files and their beginnings, until wait_ms after
 * writer_start at most: past that a file system that does not answer may still do so.
 */
bool writer_records(struct writer *writer, unsigned wait_ms);

/*
 * Asks that all that was recorded before go to the kernel; writer_await waits for that, at most timeout_ms,
 * and not at all where that was not enough the last time and the thread is still at it. at_rest: no
 * communicator is live; until writer_resume the files on disk are whole, as the process may end without
 * writer_stop. Neither this nor writer_resume is for two threads at once.
 */
uint32_t writer_ask(struct writer *writer, bool at_rest);
void writer_await(struct writer *writer, uint32_t asked, unsigned timeout_ms);

/* There is a communicator: from now on a file without its end says that the process was killed. */
void writer_resume(struct writer *writer);

/*
 * Writes everything out, unfinished operations too, ends the files and the thread; by the time until_ns of
 * CLOCK_MONOTONIC it returns, and before that where the thread is held up. Memory stays: another thread may
 * still be in writer_await.
 */
void writer_stop(struct writer *writer, uint64_t until_ns);

#endif

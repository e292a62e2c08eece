/* The one thread that turns records into files. Nobody waits for it but finalize and exit, and they not for
 * long. */
#ifndef PLUGIN_WRITE_WRITER_H
#define PLUGIN_WRITE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct writer;

struct writer_settings {
    char path[4096]; /* file pattern, directory included, without suffix */
    bool chrome;     /* which files */
    bool inspector;
    bool gzip;
    uint64_t buffer_slots;   /* of each thread's ring */
    uint32_t pending_events; /* most that wait for what is still to come of them */
    uint64_t flush_ns;
};

struct writer_origin {
    unsigned api;
    uint32_t mask; /* enum api_event: of the first communicator */
    int nccl_version;
    int rank; /* of the first communicator, where no launcher tells a rank */
};

/* Opens the files and starts the thread; null with a sentence in failure. */
struct writer *writer_start(const struct writer_settings *settings, const struct writer_origin *origin,
                            char *failure, size_t failure_bytes);

/* The file written to, for the log. */
const char *writer_path(const struct writer *writer);

/*
 * Asks that all that was recorded before go to the kernel; writer_await waits for that, at most timeout_ms.
 * at_rest: no communicator is live; until writer_resume the files on disk are whole, as the process may end
 * without writer_stop. Neither this nor writer_resume is for two threads at once.
 */
uint32_t writer_ask(struct writer *writer, bool at_rest);
void writer_await(struct writer *writer, uint32_t asked, unsigned timeout_ms);

/* There is a communicator: from now on a file without its end says that the process was killed. */
void writer_resume(struct writer *writer);

/*
 * Writes everything out, unfinished operations too, ends the files and the thread; by the time `until` of
 * CLOCK_REALTIME it returns. Memory stays: another thread may still be in writer_await.
 */
void writer_stop(struct writer *writer, const struct timespec *until);

/* In a child after fork: closes the parent's files, forgets the rest. */
void writer_abandon(struct writer *writer);

#endif

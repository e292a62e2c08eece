/* The one thread that turns records into files. Nobody waits for it but finalize and exit, and they not for
 * long. */
#ifndef PLUGIN_WRITER_H
#define PLUGIN_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin/config.h"

struct writer;

struct writer_origin {
    unsigned api;
    int nccl_version;
    int rank; /* of the first communicator, where no launcher tells a rank */
};

/* Opens the files and starts the thread; null with a sentence in failure. */
struct writer *writer_start(const struct config *config, const struct writer_origin *origin, char *failure,
                            size_t failure_bytes);

/* The file written to, for the log. */
const char *writer_path(const struct writer *writer);

/*
 * Waits until all that was recorded before is with the kernel, or for timeout_ms. at_rest: no communicator is
 * live; until writer_resume the files on disk are whole, as the process may end without writer_stop.
 */
void writer_flush(struct writer *writer, bool at_rest, unsigned timeout_ms);

/* There is a communicator: from now on a file without its end says that the process was killed. */
void writer_resume(struct writer *writer);

/* Writes everything out, unfinished operations too, ends the files and the thread. */
void writer_stop(struct writer *writer, unsigned timeout_ms);

/* In a child after fork: closes the parent's files, forgets the rest. */
void writer_abandon(struct writer *writer);

#endif

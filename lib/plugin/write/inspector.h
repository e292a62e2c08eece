/* One line a completed operation, as NVIDIA's Inspector writes it (verbose). */
#ifndef PLUGIN_WRITE_INSPECTOR_H
#define PLUGIN_WRITE_INSPECTOR_H

#include <stdint.h>

#include "plugin/tree/tree.h"
#include "plugin/write/notes.h"
#include "plugin/write/sink.h"
#include "plugin/write/stop.h"

struct inspector {
    struct sink *sink;
    struct tree *tree;
    int64_t realtime_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC, as last read */
    long process;
    int rank; /* of the first communicator, for what is of the process */
    const char *host;
};

/* Every finished task of a tree. */
void inspector_tree(struct inspector *inspector, uint32_t root);

/* Lines of ours, of the process as a whole: what Inspector itself has no record for. */
void inspector_drops(struct inspector *inspector, const struct notes_drops *drops);
void inspector_stopped(struct inspector *inspector, const struct stop *stop, uint64_t written_bytes);

#endif

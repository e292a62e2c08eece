/* One line a completed operation, as NVIDIA's Inspector writes it (verbose). */
#ifndef PLUGIN_WRITE_INSPECTOR_H
#define PLUGIN_WRITE_INSPECTOR_H

#include <stdint.h>

#include "plugin/tree/tree.h"
#include "plugin/write/sink.h"

struct inspector {
    struct sink *sink;
    struct tree *tree;
    int64_t realtime_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC, as last read */
    long process;
    char host[256];
};

/* Every finished task of a tree. */
void inspector_tree(struct inspector *inspector, uint32_t root);

#endif

#ifndef NCCLPROF_TESTS_NODE_LINES_H
#define NCCLPROF_TESTS_NODE_LINES_H

#include "base/base.h"
#include "node/internal.h"

/* A folder that stands for "/", the lines that a part of the sampler writes, and their writer. */
struct node_lines {
    char root[64];
    struct node_files files;
    struct node_writer writer;
    struct buffer text;
};

void node_lines_begin(struct node_lines *lines);
void node_lines_end(struct node_lines *lines);

/* Writes a file below the root, with its folders. */
void node_lines_file(const struct node_lines *lines, const char *path, const char *text);

/* Begins a line of one second, as the sampler does. */
void node_lines_next(struct node_lines *lines);

/* Finishes the line; returns all lines since the last call. */
const char *node_lines_finish(struct node_lines *lines);

/* Fails unless the lines contain a series with this beginning, "[\"gpu\",...", and returns its last value;
 * NaN if none. */
double node_lines_value(const struct node_lines *lines, const char *series);

#endif

/* What all lines of a Chrome trace have: where they go, how they begin, how events and times are shown. */
#ifndef PLUGIN_WRITE_CHROME_LINE_H
#define PLUGIN_WRITE_CHROME_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/tree/tree.h"
#include "plugin/write/sink.h"

struct chrome {
    struct sink *sink;
    struct tree *tree;
    uint64_t start_ns; /* CLOCK_MONOTONIC of ts 0 */
    char process[48];  /* the part of every line that names the process */
    size_t process_length;
    uint32_t ids[TYPE_COUNT];
};

void chrome_init(struct chrome *chrome, struct sink *sink, struct tree *tree, uint64_t start_ns,
                 long process);

/* {"name": N, "cat": C, "ph": P, "id": I, "pid": ..., "tid": 1, "ts": T   -- the caller appends the rest */
struct text *chrome_line(struct chrome *chrome, const char *name, const char *category, char phase,
                         uint32_t id, uint64_t time_ns);

/* {"name": N, "cat": "NCCLPROF", "ph": "M" or "i", ... "args": {   -- the caller appends the rest */
struct text *chrome_note(struct chrome *chrome, const char *name, bool instant, uint64_t time_ns);
void chrome_note_end(struct text *text);

/* Microseconds since the start; 0.000000 for an unknown time. */
void chrome_time(const struct chrome *chrome, struct text *text, uint64_t time_ns);

/* Name and category as printed. */
const char *chrome_name(const struct chrome *chrome, const struct node *node);
const char *chrome_category(uint8_t type);

#endif

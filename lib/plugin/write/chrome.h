/*
 * Chrome trace lines: NVIDIA's example plugin's dialect, arguments of ours appended. man/ncclprof-plugin.7 is
 * the contract; whoever changes a line here changes it there.
 */
#ifndef PLUGIN_WRITE_CHROME_H
#define PLUGIN_WRITE_CHROME_H

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

/* A tree, finished or given up: every task in it says for itself. */
void chrome_tree(struct chrome *chrome, uint32_t root);

/* {"name": N, "cat": "NCCLPROF", "ph": "M" or "i", ... "args": {   -- the caller appends the rest */
struct text *chrome_note(struct chrome *chrome, const char *name, bool instant, uint64_t time_ns);
void chrome_note_end(struct text *text);

void chrome_tag(struct chrome *chrome, const struct record *record);
/* What the application calls its tag of a number. */
void chrome_tag_name(struct chrome *chrome, uint64_t number, const char *name, uint64_t now_ns);

/* Microseconds since the start; 0.000000 for an unknown time. */
void chrome_time(const struct chrome *chrome, struct text *text, uint64_t time_ns);

/* Name and category as printed. */
const char *chrome_name(const struct chrome *chrome, const struct node *node);
const char *chrome_category(uint8_t type);

#endif

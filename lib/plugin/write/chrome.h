/*
 * Chrome trace lines: NVIDIA's example plugin's dialect, arguments of ours appended. man/ncclprof-plugin.7 is
 * the contract; whoever changes a line here changes it there.
 */
#ifndef PLUGIN_WRITE_CHROME_H
#define PLUGIN_WRITE_CHROME_H

#include <stdint.h>

#include "plugin/write/chrome_line.h"

/* A tree, finished or given up: every task in it says for itself. */
void chrome_tree(struct chrome *chrome, uint32_t root);

void chrome_tag(struct chrome *chrome, const struct record *record);
/* What the application calls its tag of a number. */
void chrome_tag_name(struct chrome *chrome, uint64_t number, const char *name, uint64_t now_ns);

#endif

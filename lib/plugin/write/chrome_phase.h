/* Kernel phases as lines. */
#ifndef PLUGIN_WRITE_CHROME_PHASE_H
#define PLUGIN_WRITE_CHROME_PHASE_H

#include "plugin/write/chrome_line.h"

/* Those of a kernel channel, under its id. */
void chrome_phases(struct chrome *chrome, const struct node *kernel, uint32_t id);

#endif

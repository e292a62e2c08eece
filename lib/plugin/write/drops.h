/* What was lost so far: gathered where it is counted, written when it changed, told in the log once for each
 * cause. */
#ifndef PLUGIN_WRITE_DROPS_H
#define PLUGIN_WRITE_DROPS_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/ring/ring.h"
#include "plugin/write/inspector.h"
#include "plugin/write/notes.h"

struct drops {
    struct notes_drops written; /* as last written */
    struct ring_drops logged;   /* as last logged */
};

/* Chrome or inspector may be null; `always`: also what did not change, if that is what a format has a line
 * for. */
void drops_write(struct drops *drops, const struct tree_counts *counts, struct chrome *chrome,
                 struct inspector *inspector, bool always);

#endif

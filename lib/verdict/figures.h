#ifndef NCCLPROF_VERDICT_FIGURES_H
#define NCCLPROF_VERDICT_FIGURES_H

#include "base/buffer.h"

#include <stddef.h>
#include <stdint.h>

/* The figures of an evidence by name, for programs: what the sentence says, and no more. */

enum { FIGURES_MOST = 12 };

struct figure {
    const char *name; /* static: with its unit (`_us`), none for a count */
    double value;
};

struct figures {
    struct figure items[FIGURES_MOST];
    size_t count;
};

/* One more; of more than FIGURES_MOST none is kept. A time that is TIME_UNKNOWN is left out. */
void figures_add(struct figures *figures, const char *name, double value);
void figures_add_time(struct figures *figures, const char *name_us, int64_t time_ns);

/* "figures": {...}. -1 when memory is out. */
int figures_add_json(const struct figures *figures, struct buffer *json);

#endif

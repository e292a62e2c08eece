#ifndef NCCLPROF_TIMELINE_WAITS_H
#define NCCLPROF_TIMELINE_WAITS_H

#include "timeline/canvas.h"

/*
 * Who waited for whom, by durations (job/arrival.h), as steps sums it up: of each instance the operation that
 * came last.
 */
struct waits {
    const struct canvas *canvas; /* borrowed */
    int32_t *last;               /* owned, of each instance; -1 */
    uint64_t *arrows;            /* owned: scratch for waits_arrows */
};

/* Waiting that is shorter is not drawn. */
enum { WAIT_LEAST_NS = 1000 };

/* -1 when memory is out. */
int waits_init(struct waits *waits, const struct canvas *canvas);
void waits_release(struct waits *waits);

/* What an operation waited for the last to come, from its start on; 0: it did not, or nobody knows. */
int64_t waits_of(const struct waits *waits, size_t operation);

/* When it was over, as an arrow needs it: after the last had come, by the clocks; TIME_UNKNOWN: no arrow. */
int64_t waits_arrow_ns(const struct waits *waits, size_t operation);

/* The arrows from an operation to all that waited for it, in waits->arrows; how many. */
size_t waits_arrows(const struct waits *waits, size_t operation);

/* The arrow that ends at an operation. */
uint64_t waits_arrow(size_t operation);

#endif

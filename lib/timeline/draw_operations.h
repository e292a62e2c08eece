#ifndef NCCLPROF_TIMELINE_DRAW_OPERATIONS_H
#define NCCLPROF_TIMELINE_DRAW_OPERATIONS_H

#include "timeline/waits.h"

/* The operations of a rank, a track for each of its streams, and what of them was waiting. */
int draw_operations(struct canvas *canvas, const struct waits *waits, int32_t rank, struct error *error);

#endif

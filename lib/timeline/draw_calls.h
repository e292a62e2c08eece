#ifndef NCCLPROF_TIMELINE_DRAW_CALLS_H
#define NCCLPROF_TIMELINE_DRAW_CALLS_H

#include "timeline/canvas.h"

/* What a rank's host did for each operation: from the call until it was enqueued, or the moment of the call.
 */
int draw_calls(struct canvas *canvas, int32_t rank, struct error *error);

#endif

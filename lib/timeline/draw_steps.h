#ifndef NCCLPROF_TIMELINE_DRAW_STEPS_H
#define NCCLPROF_TIMELINE_DRAW_STEPS_H

#include "timeline/canvas.h"

/*
 * The steps of a rank as slices, each up to the next, and in them their phases: a phase is a tag, from the
 * end of the operation before on, on whatever stream, to the end of the last of its own
 * (steps/step_summary.h).
 */
int draw_steps(struct canvas *canvas, int32_t rank, struct error *error);

/* When steps began and ended on all ranks whose clocks are aligned, [step], on the one clock; TIME_UNKNOWN.
 */
struct step_span {
    int64_t begin_ns;
    int64_t end_ns;
};

/* Owned by the caller (free); NULL when memory is out. */
struct step_span *step_spans_new(const struct canvas *canvas);

#endif

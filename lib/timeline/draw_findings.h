#ifndef NCCLPROF_TIMELINE_DRAW_FINDINGS_H
#define NCCLPROF_TIMELINE_DRAW_FINDINGS_H

#include "timeline/canvas.h"
#include "timeline/draw_steps.h"

/*
 * Findings over the steps that they are of, with what they say: those that accuse a rank on a track of it, or
 * with NO_RANK all that accuse one that is drawn.
 */
int draw_findings(struct canvas *canvas, const struct step_span *spans, int32_t rank, struct error *error);

#endif

#ifndef NCCLPROF_TIMELINE_DRAW_PROXIES_H
#define NCCLPROF_TIMELINE_DRAW_PROXIES_H

#include "timeline/canvas.h"

/*
 * What network threads did for the operations that are drawn, a track for each direction, peer and channel,
 * and one for the waits of single network steps, of which there are many. Wants the tracks of their ranks.
 */
int draw_proxies(struct canvas *canvas, struct error *error);

#endif

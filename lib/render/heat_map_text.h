#ifndef NCCLPROF_RENDER_HEAT_MAP_TEXT_H
#define NCCLPROF_RENDER_HEAT_MAP_TEXT_H

#include "render/heat_map.h"

/*
 * Maps for people, fit for a terminal, in lines of at most `width` columns where that has room for a map at
 * all, without characters beyond ASCII of its own unless `utf8`. -1 when memory is out.
 */
int heat_maps_text(struct heat_maps *maps, size_t width, int utf8, struct buffer *text);

#endif

#ifndef NCCLPROF_RENDER_HEAT_MAP_SVG_H
#define NCCLPROF_RENDER_HEAT_MAP_SVG_H

#include "render/heat_map.h"

/* Maps as one SVG document. -1 when memory is out. */
int heat_maps_svg(struct heat_maps *maps, struct buffer *svg);

#endif

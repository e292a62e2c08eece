#ifndef NCCLPROF_RENDER_FORMATS_H
#define NCCLPROF_RENDER_FORMATS_H

#include "render/render.h"

/* What each file of this room exports to registry.c. */
extern const struct renderer renderer_table;
extern const struct renderer renderer_json;
extern const struct renderer renderer_csv;

#endif

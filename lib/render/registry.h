#ifndef NCCLPROF_RENDER_REGISTRY_H
#define NCCLPROF_RENDER_REGISTRY_H

#include "render/render.h"

extern const struct renderer *const renderer_registry[]; /* ended by NULL; the first is the default */

/* What the formats are called, in the registry's order; NULL past the last. */
const char *renderer_name(size_t number);

/* NULL when there is none of that name. */
const struct renderer *renderer_find(const char *name);

/* A whole table at once. */
int render_table(const struct renderer *renderer, const struct table *table,
                 const struct render_target *target, struct error *error);

#endif

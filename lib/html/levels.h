#ifndef NCCLPROF_HTML_LEVELS_H
#define NCCLPROF_HTML_LEVELS_H

#include "render/heat_map.h"

/*
 * Cells of a map as one path for each level of colour, so that thousands of them take little room: classes
 * l0 to l4. Cells that touch in a row are one piece; one is one unit wide and high. -1 when memory is out.
 */
int html_add_levels(struct buffer *page, const struct heat_map *map);

/* What the colours stand for, and last what a frame does: the end of a paragraph of class "keys". */
int html_add_level_keys(struct buffer *page, const struct heat_scale *scale, const char *frame);

#endif

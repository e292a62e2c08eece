#ifndef NCCLPROF_HTML_LEVELS_H
#define NCCLPROF_HTML_LEVELS_H

#include "base/buffer.h"

#include <stddef.h>

/*
 * Cells of a grid as one path for each level of colour, so that thousands of them take little room: classes
 * l0 to l4. Cells that touch in a row are one piece.
 */

/* `level_of` a cell; less than 0: it is not drawn. A cell is one unit wide and high. -1 when memory is out.
 */
int html_add_levels(struct buffer *page, size_t rows, size_t columns,
                    int (*level_of)(const void *context, size_t row, size_t column), const void *context);

#endif

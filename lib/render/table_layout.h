#ifndef NCCLPROF_RENDER_TABLE_LAYOUT_H
#define NCCLPROF_RENDER_TABLE_LAYOUT_H

#include "render/table_cell.h"

#include <stddef.h>

/* How wide the columns of a table for people are, and which of them there is room for. */

struct column_layout {
    const struct column *column;
    char *name; /* owned: what stands at its head, without the unit */
    struct table_unit unit;
    double greatest;   /* of what its unit is chosen by */
    size_t text_width; /* of its widest cell */
    size_t width;
    int shown;
    int has_values; /* not only nulls */
    int right;      /* aligned: only numbers seen */
    int has_paths;
};

struct table_layout {
    struct column_layout *columns; /* owned */
    size_t count;
    size_t gap;        /* blanks between two columns */
    size_t head_lines; /* of names */
};

/* Of a table's columns; to be released whatever it returns. -1 when memory is out. */
int table_layout_init(struct table_layout *layout, const struct table *head);
void table_layout_release(struct table_layout *layout);

/*
 * Fits the columns into `width` blanks as far as that goes: first columns without a value go, then names
 * stand in several lines; where `cuts` says that cells may be cut, as on a terminal, the widest columns of
 * text get narrower; at last there is less between columns, and those of detail go.
 */
void table_layout_fit(struct table_layout *layout, size_t width, int cuts);

/* Line `line` of a column's name, of `*length` bytes; "" where there is none. The last of all is full. */
const char *table_layout_name(const struct table_layout *layout, size_t column, size_t line, size_t *length);

#endif
